/// \file
/// All-gather of small records, for the runtime's own needs (making communicators).
#pragma once

#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

/// Arguments: `contribution` (the same size on all ranks), `data` (size times that, filled rank by rank). Rank 0 gathers,
/// then the whole goes down the binomial tree.
runtime::Task exchange(runtime::Operation& op);

}  // namespace rollcall::collectives
