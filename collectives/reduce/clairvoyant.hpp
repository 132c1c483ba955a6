/// \file
/// The part of a clairvoyant reduce that follows once all ranks know the same arrivals.
#pragma once

#include <span>

#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

/// Computes the schedule for these arrivals (in ns, by rank, the same on all ranks), and carries it out when this rank's caller has
/// arrived. `arrivals` must stay until then. Does not use the step of foresee_arrivals().
runtime::Task reduce_by_schedule(runtime::Operation& op, std::span<const Nanoseconds> arrivals);

}  // namespace rollcall::collectives
