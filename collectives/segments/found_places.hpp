/// \file
/// How ranks that know only the size of their own block learn their places in a tree of segments. On the way, the sizes that the root
/// counts are compared with those of the ranks. If they differ, all ranks are told before any data goes to a wrong place.
#pragma once

#include "collectives/segments/segments.hpp"

namespace rollcall::collectives {

/// The steps of the messages. From kRounds on there are two steps for each round of the adaptive tree.
inline constexpr std::uint64_t kSegment = 0, kStraightBlock = 1, kSums = 2, kTree = 3, kRestOfTree = 4, kRounds = 5;

/// What is told of the blocks of a segment, however many there are. It lets the root see whether the blocks have the sizes that it counts.
/// If exactly one rank has another size, the root also sees which one: the difference of `check` is then the difference of `bytes` times
/// that rank's weight.
struct BlockSums {
    std::uint64_t in_segment = 0;  ///< Without the blocks that go straight to the root.
    std::uint64_t bytes = 0;
    std::uint64_t check = 0;  ///< The sum of each block's size times a weight of its rank, modulo 2^64.

    void add(int rank, std::uint64_t size, std::uint64_t size_in_segment);
    void add(const BlockSums& other);
};

/// The halving tree in the order of ranks, from the root on. In a gather each rank tells its parent the size of its segment. In a scatter
/// each rank is told by its parent the sizes of the blocks that it will get, 8 bytes for each.
Task binomial_gather_place(Operation& op, SegmentPlace& place);
Task binomial_scatter_place(Operation& op, SegmentPlace& place);

/// Träff's adaptive binomial tree (trees/adaptive.hpp), as its own ranks build it. In round d neighbouring segments of 2^d ranks are
/// merged. The first rank of a segment speaks for it. Two such ranks tell each other the sums and the roots of their segments. So both know
/// which of the two roots receives, and tell that to their own root. Whatever the sizes are, this takes two short messages in each of
/// ceil(log2 n) rounds, and no rank knows more than its own part. Long blocks go straight to the root: those from straight_from() on, by
/// the job's costs.
Task adaptive_place(Operation& op, SegmentPlace& place);

/// The size of this rank's block in a gather or scatter.
std::uint64_t own_size(const Operation& op);

}  // namespace rollcall::collectives
