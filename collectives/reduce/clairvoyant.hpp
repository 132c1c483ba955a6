/// \file
/// The part of a clairvoyant reduce that follows once all ranks know the same arrivals.
#pragma once

#include "collectives/arrivals/foresight.hpp"

namespace rollcall::collectives {

/// Computes the schedule for these arrivals, which are the same on all ranks, and carries it out when this rank's caller has arrived.
/// The elements are cut into at most `most_pieces` pieces. `foresight` must stay until then. Does not use the step of foresee_arrivals().
runtime::Task reduce_by_schedule(runtime::Operation& op, const Foresight& foresight, std::uint64_t most_pieces);

}  // namespace rollcall::collectives
