/// \file
/// The tree of binomial scatter and gather, in which each rank answers for a contiguous range of positions. Pure functions.
#pragma once

#include <span>
#include <vector>

namespace rollcall::collectives {

/// One rank's place in a halving tree.
struct HalvingPlace {
    struct Child {
        int rank;
        int blocks;
    };
    int parent = -1;              ///< -1 at the root.
    int blocks = 1;               ///< Ranks of its subtree, itself included.
    std::vector<Child> children;  ///< The one with the farthest range first.
};

/// Position p of k slots (a power of two) has the children p + k/2, p + k/4, ..., p + 1, as far as they are less than the
/// lowest bit of p away; the child p + i answers for positions [p + i, p + 2i). Where a rank's blocks stand side by side in
/// order of position, its own is the first and those of its last child come next.
///
/// The place of `position`, where the rank at each position is given, -1 for none. A position with a subtree that is not
/// empty must not be empty.
/// Example: {0, 5, 3, 1, 2, -1, 4, -1}: 0 -> 2 {2, 4}, 3 {3, 1}, 5; 2 -> 4; 3 -> 1.
HalvingPlace halving_place(std::span<const int> rank_at, int position);

/// The same where n ranks stand in the order of their numbers from the root on: without their list.
/// Example, n = 6, root 0: 0 -> 4 {4, 5}, 2 {2, 3}, 1; 2 -> 3; 4 -> 5.
HalvingPlace halving_place(int n, int root, int rank);

/// Positions for ranks that are to be served in this order, the root first: the j-th stands at j with its bits reversed.
/// So the second has the largest subtree, and the later half has none. The empty positions, where the number of ranks is no
/// power of two, have odd numbers: nobody stands below them.
/// Example: {0, 2, 3, 4, 5, 1} gives {0, 5, 3, -1, 2, 1, 4, -1}.
std::vector<int> arrange_by_order(std::span<const int> order);

}  // namespace rollcall::collectives
