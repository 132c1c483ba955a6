/// \file
/// An allgather of small records for the runtime's own needs (making communicators).
#pragma once

#include "runtime/engine/operation.hpp"

namespace rollcall::collectives {

/// Arguments: `contribution` (call().bytes on all ranks) and `data` (so many bytes for each rank, filled rank by rank). Ranks of one node
/// exchange the records through node memory. Otherwise rank 0 gathers them, and then all of them go down the binomial tree.
runtime::Task exchange(runtime::Operation& op);

}  // namespace rollcall::collectives
