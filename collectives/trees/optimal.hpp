/// \file
/// The best ordered tree where all links cost the same: Träff, section 3.2. Pure.
#pragma once

#include <span>

#include "collectives/trees/merging.hpp"
#include "collectives/trees/ranges.hpp"

namespace rollcall::collectives {

struct TimedTree {
    BlockTree tree;
    double time = 0;  ///< The tree's completion_time(), if nothing was rounded.
};

/// Dynamic programming over ranges of ranks: the best tree over i .. j merges the best trees over i .. k and k + 1 .. j, for some k. Figure
/// 4 of the paper is computed for every k. (Figure 6, as printed, leaves out k = i, and the copy of a last rank that is the root.) Rank i
/// alone is ready when it arrives, so sizes and lateness are one problem.
///
/// Example: blocks of 1, 1, 6 and 1 bytes, alpha = beta = 1, gamma = 0. Rank 2 is the best root: 3 -> 2 and 0 -> 1 take 2 at the same time,
/// then 1 -> 2 takes 3, together 5. With root 0 it takes 10: 3 -> 2 and 1 -> 0 take 2, then 2 -> 0 takes 8.
///
/// n ranks take n^3 / 6 steps, and at most as many again for a given root. The memory is 16 n^2 bytes, and 16 more for each range with that
/// root. Trees are reconstructed from the times of ranges alone, in O(n^2).
class OptimalTrees : private RangeTable {
  public:
    /// The spans of `problem` must outlive this object. gamma <= beta is required; otherwise copies could be saved by sending data back and
    /// forth.
    OptimalTrees(const BlockProblem& problem, const LinearCosts& costs);

    /// The best tree over all roots.
    TimedTree best();
    /// The best tree with this root.
    TimedTree with_root(int root);

  private:
    class RangesWithRoot;
    MergedSegment segment(int first, int last, int root = kAnyRoot) { return {first, last, root, sum(first, last), at(first, last)}; }
    void compute(int first, int last);
    double time_of(int i, int j);
    int build(int i, int j, BlockTree& tree);

    const BlockProblem problem_;
    const LinearCosts costs_;
};

inline TimedTree optimal_tree(const BlockProblem& problem, const LinearCosts& costs, int root = kAnyRoot) {
    OptimalTrees trees(problem, costs);
    return root == kAnyRoot ? trees.best() : trees.with_root(root);
}

/// The best tree for ranks in the order of this list instead of their numbers: order[i] is a rank. The tree is not ordered by rank, so the
/// root puts the blocks in their places. Possible orders are descending arrival or ascending size.
TimedTree optimal_tree_in_order(const BlockProblem& problem, std::span<const int> order, const LinearCosts& costs, int root = kAnyRoot);

}  // namespace rollcall::collectives
