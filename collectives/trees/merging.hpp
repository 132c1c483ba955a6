/// \file
/// Trees that are built from the leaves: neighbouring segments are merged, and one of their two roots sends its segment to the other. Pure
/// functions.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/trees/block_tree.hpp"
#include "collectives/trees/costs.hpp"

namespace rollcall::collectives {

/// The caller asks for no particular root, but for the best one.
inline constexpr int kAnyRoot = -1;

/// A tree over ranks first .. last, with its time to complete (Träff, Figure 4).
struct MergedSegment {
    int first, last, root;
    double size, time;

    bool contains(int rank) const { return first <= rank && rank <= last; }
    bool is_single() const { return first == last; }
};

inline MergedSegment single_segment(const BlockProblem& problem, int rank) {
    return {rank, rank, rank, problem.size(rank), problem.arrival(rank)};
}

/// The time at which `left`, and `right` which follows it, are together at the root of one of them. If the receiver is a single rank on the
/// left, it copies its block while the right part is collected. If it is a single rank on the right, it copies after it has received,
/// because a strongly ordered tree takes segments in the order of ranks.
inline double time_to_merge(const MergedSegment& left, const MergedSegment& right, bool into_left, const LinearCosts& costs) {
    const double copy_first = into_left && left.is_single() ? costs.copy(left.root, left.size) : 0;
    const double copy_last = !into_left && right.is_single() ? costs.copy(right.root, right.size) : 0;
    return std::max(left.time + copy_first, right.time) + costs.transfer(into_left ? right.size : left.size) + copy_last;
}

inline MergedSegment merge(const MergedSegment& left, const MergedSegment& right, bool into_left, const LinearCosts& costs,
                           BlockTree& tree) {
    const int from = into_left ? right.root : left.root, to = into_left ? left.root : right.root;
    tree.connect(from, to);
    if (!into_left && right.is_single()) tree.node(to).received_before_copy = 1;
    return {left.first, right.last, to, left.size + right.size, time_to_merge(left, right, into_left, costs)};
}

}  // namespace rollcall::collectives
