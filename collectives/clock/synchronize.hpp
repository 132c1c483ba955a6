/// \file
/// Synchronisation of the clocks of a communicator's ranks.
#pragma once

#include "runtime/clock/synchronization.hpp"
#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

/// Arguments: `clocks`. Afterwards each rank knows how its host's clock goes beside rank 0's.
runtime::Task synchronize_clocks(runtime::Operation& op);

}  // namespace rollcall::collectives
