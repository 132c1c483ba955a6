/// \file
/// The gathers over a halving tree.
#pragma once

#include "collectives/places.hpp"

namespace rollcall::collectives {

/// Takes the blocks of each child's subtree, the nearest and smallest first, and sends them, its own before them, to its
/// parent; at the root: puts them in order into the caller's data. Not before its caller has arrived; but in the background
/// it takes what comes from the children before that, and a late child does not stop those after it.
Task gather_tree(Operation& op, const Places& places, bool background);

/// The sorted binomial gathers: each rank learns its place, then the tree.
Task gather_sorted_tree(Operation& op, bool background);

}  // namespace rollcall::collectives
