/// \file
/// Synchronisation of the clocks of a communicator's ranks.
#pragma once

#include "runtime/clock/synchronization.hpp"
#include "runtime/engine/operation.hpp"

namespace rollcall::collectives {

/// Arguments: `clocks`. Afterwards each rank knows how the clock of its host relates to that of rank 0.
runtime::Task synchronize_clocks(runtime::Operation& op);

}  // namespace rollcall::collectives
