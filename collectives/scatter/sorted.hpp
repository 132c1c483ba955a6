/// \file
/// The root's side of the sorted linear scatters.
#pragma once

#include "collectives/blocks.hpp"

namespace rollcall::collectives {

/// Waits for the caller, who has the data; then sends each rank its block, one after the other, each time to whom the
/// board shows to be the next (Roster).
Task scatter_sorted_root(Operation& op);

}  // namespace rollcall::collectives
