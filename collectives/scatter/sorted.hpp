/// \file
/// The root's side of the sorted linear scatters.
#pragma once

#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {

/// Waits for the caller, because the caller has the data. Then sends each rank its block, one after the other. Before each block the board
/// tells which rank is the next one (see Roster).
Task scatter_sorted_root(Operation& op);

}  // namespace rollcall::collectives
