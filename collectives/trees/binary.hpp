/// \file
/// The balanced binary tree whose subtrees are consecutive ranks. A pure function of sizes.
#pragma once

#include "collectives/trees/binomial.hpp"

namespace rollcall::collectives {

/// Let v be a rank's number counted from the root. The subtree of v has consecutive numbers, of which v is the first. The first child is v
/// + 1, with one half of the other numbers (the larger half, if they are an odd number), and the second child begins the other half. So a
/// rank's own elements, those of its first subtree and those of its second one are in the order of the numbers. No path has more than
/// log2(n) edges. Takes any root and any n >= 1, and returns ranks of the communicator. Example: n = 8, root 0: 0 -> 1, 5; 1 -> 2, 4; 2 ->
/// 3; 5 -> 6, 7.
TreePlace binary_tree(int n, int root, int rank);

/// How many children the rank has there.
int binary_children(int n, int root, int rank);

}  // namespace rollcall::collectives
