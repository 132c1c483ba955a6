/// \file
/// The best ordered tree in which no rank has more than two children: Träff, section 3.3. Pure.
#pragma once

#include "collectives/trees/optimal.hpp"

namespace rollcall::collectives {

/// Figure 7 of the paper, with its last case corrected (the copy is that of rank j). The trees are strongly ordered: the lower child is
/// received first, and the own block has its place between those of the children. n^3 / 3 steps, 16 n^2 bytes.
///
/// Example: 8 ranks, root 0, each message takes 1 (beta = 0). The tree takes 4: 7 -> 6, 5 -> 4 and 3 -> 2; then 6 -> 4 and 2 -> 1; then
/// 4 -> 1; then 1 -> 0. With more than two children for a rank, 3 are enough (OptimalTrees: 0 receives from 1, 3 and 7).
class OptimalBinaryTrees : private RangeTable {
  public:
    /// `sizes` must outlive this object.
    OptimalBinaryTrees(std::span<const std::uint64_t> sizes, const LinearCosts& costs);

    TimedTree best();
    /// The tree with this root, whose subtrees are the best ones.
    TimedTree with_root(int root);

  private:
    /// A root and its children. The children are the ranks of the range before and after `root`; or one of these two parts, cut in two.
    struct Shape {
        double time;
        int root;
        int split = -1;  ///< The last rank of the first child, if both children are on one side of the root.
    };
    double copy(int rank) const { return costs_.copy(rank, sum(rank, rank)); }
    /// The time at which a receiver that is ready at `ready` has the segment of first .. last. If that range is empty: `ready`.
    double received(int first, int last, double ready) {
        return first > last ? ready : std::max(ready, at(first, last)) + costs_.transfer(sum(first, last));
    }
    double with_root_between(int i, int root, int j);
    double with_one_child(int i, int j);
    double over_splits(const double* received_first, int i, int first_split, int j);
    void compute(int first, int last);
    Shape shape(int i, int j);
    Shape shape(int i, int j, int root);
    int build(int i, int j, const Shape& shape, BlockTree& tree);

    const LinearCosts costs_;
};

}  // namespace rollcall::collectives
