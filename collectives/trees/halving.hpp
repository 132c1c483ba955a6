/// \file
/// The tree of binomial scatter and gather, in which each rank is responsible for a contiguous range of positions. Pure functions.
#pragma once

#include <algorithm>
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
    int blocks = 1;               ///< Number of ranks in its subtree, including itself.
    std::vector<Child> children;  ///< The one with the farthest range first.
};

/// The place of `position`, where the rank at each position is given (-1: none). A position must not be empty unless its subtree is.
///
/// Let there be k slots (a power of two). Position p has the children p + k/2, p + k/4, ..., p + 1, as far as they are less than the lowest
/// bit of p away. Child p + i is responsible for the positions [p + i, p + 2i). A rank has its blocks side by side in the order of
/// positions: its own comes first, then those of its last child.
///
/// Example: {0, 5, 3, 1, 2, -1, 4, -1}: 0 -> 2 {2, 4}, 3 {3, 1}, 5; 2 -> 4; 3 -> 1.
HalvingPlace halving_place(std::span<const int> rank_at, int position);

/// The same for n ranks in the order of their numbers, counted from the root on. Needs no list of them. Example: n = 6, root 0: 0 -> 4 {4,
/// 5}, 2 {2, 3}, 1; 2 -> 3; 4 -> 5.
HalvingPlace halving_place(int n, int root, int rank);

/// The number of ranks in a rank's subtree of that tree, including itself. Rank `root` is not asked for.
inline int halving_blocks(int n, int root, int rank) {
    const int position = (rank - root + n) % n;
    return std::min(position & -position, n - position);
}

/// Positions for ranks that are to be served in this order, the root first. Rank number j of the order gets the position j with its bits
/// reversed. So the second rank has the largest subtree, and the ranks of the later half have none. If the number of ranks is not a power
/// of two, the empty positions are odd ones, which have no ranks below them. Example: {0, 2, 3, 4, 5, 1} gives {0, 5, 3, -1, 2, 1, 4, -1}.
std::vector<int> arrange_by_order(std::span<const int> order);

}  // namespace rollcall::collectives
