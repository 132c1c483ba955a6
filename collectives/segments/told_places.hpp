/// \file
/// Trees of segments that the root finds, because it knows all sizes. It tells each rank its place, and the size that it counts for the
/// rank, in 16 bytes and 16 more for each of its children. This goes down a halving tree, in which a rank is sent what it and the ranks
/// below it are told: about 32 bytes for each of them, and 128 more. If the sizes differ, all ranks are told before any data goes to a
/// wrong place.
#pragma once

#include <memory>

#include "collectives/segments/segments.hpp"
#include "collectives/trees/block_tree.hpp"
#include "collectives/trees/costs.hpp"

namespace rollcall::collectives {

/// Up to this number the dynamic program takes less than a few milliseconds.
inline constexpr int kMostOptimalRanks = 256;
/// Up to this number ranks and positions fit into 16 bits.
inline constexpr int kMostToldRanks = 32767;

/// The best ordered tree (trees/optimal.hpp).
SegmentTree best_segment_tree(const BlockProblem& problem, const LinearCosts& costs, int root);
/// The best of three trees: those that are best in the order of ranks, of sizes from the largest on, and of arrivals. In the last two the
/// root comes first. The last one is left out if all arrive together. A tree in another order than that of the ranks must be better by the
/// time in which the root copies all blocks once more.
SegmentTree best_sorted_tree(const BlockProblem& problem, const LinearCosts& costs, int root);
/// The tree of Träff's Lemma 2: one tree of the ranks with small blocks, one of those with large blocks, and one message between them.
/// Blocks that are too large for it go straight to the root (best_two_part_tree()).
SegmentTree two_part_segment_tree(const BlockProblem& problem, const LinearCosts& costs, int root);

/// This rank's place in such a tree, for the job's costs (tree_costs.hpp). Ranks beyond kMostOptimalRanks (kMostToldRanks) use the adaptive
/// tree instead.
Task optimal_place(Operation& op, SegmentPlace& place);
Task sorted_optimal_place(Operation& op, SegmentPlace& place);
Task two_part_place(Operation& op, SegmentPlace& place);

/// This rank's place, as `find` finds it. In a plan, whose sizes do not change, it is found in the first iteration and kept.
Task kept_place(Operation& op, Task (*find)(Operation&, SegmentPlace&), std::shared_ptr<const SegmentPlace>& place);
/// In an iteration of a plan: sorted_optimal_place() with the arrivals that are predicted for it.
Task predicted_place(Operation& op, SegmentPlace& place);

/// The place of a rank in a tree. `sizes`: the sizes of all blocks, as they are in segments.
SegmentPlace place_in(const SegmentTree& tree, std::span<const std::uint64_t> sizes, int rank);

}  // namespace rollcall::collectives
