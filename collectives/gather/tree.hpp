/// \file
/// The gathers over a halving tree.
#pragma once

#include "collectives/arrivals/places.hpp"

namespace rollcall::collectives {

/// Takes the blocks of each child's subtree; the nearest child, which has the smallest subtree, comes first. Sends them, after this rank's
/// own block, to the parent. At the root, puts them in order into the caller's data. Nothing is taken before the caller has arrived, unless
/// `background`: then this rank takes what comes from the children before that, and a late child does not stop the children after it.
Task gather_tree(Operation& op, const Places& places, bool background);

/// The sorted binomial gathers: each rank learns its place, and then the tree is run.
Task gather_sorted_tree(Operation& op, bool background);

}  // namespace rollcall::collectives
