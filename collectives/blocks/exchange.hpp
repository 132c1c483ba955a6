/// \file
/// An allgather of small records for the runtime's own needs (making communicators).
#pragma once

#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

/// Arguments: `contribution` (the same size on all ranks) and `data` (one such size for each rank, filled rank by rank). Rank 0 gathers the
/// records. Then all of them go down the binomial tree.
runtime::Task exchange(runtime::Operation& op);

}  // namespace rollcall::collectives
