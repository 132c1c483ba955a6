/// \file
/// How ranks that know only the size of their own block learn their places in a tree of segments. What the root counts for each rank is
/// compared on the way, and where it is something else all ranks are told, before anything goes to a wrong place.
#pragma once

#include "collectives/segments.hpp"
#include "collectives/trees/block_tree.hpp"

namespace rollcall::collectives {

/// The steps of the messages. From kRounds on there are two for each round of the adaptive tree.
inline constexpr std::uint64_t kSegment = 0, kStraightBlock = 1, kSums = 2, kTree = 3, kRounds = 4;

/// What is told of the blocks of a segment, whatever their number: so much that the root sees whether they are what it counts, and if one
/// rank alone has another size, which one that is: the difference of `check` is then that of `bytes` times this rank's weight.
struct BlockSums {
    std::uint64_t in_segment = 0;  ///< Without blocks that go straight to the root.
    std::uint64_t bytes = 0;
    std::uint64_t check = 0;  ///< Of each block, its size times a weight of its rank, modulo 2^64.

    void add(int rank, std::uint64_t size, std::uint64_t size_in_segment);
    void add(const BlockSums& other);
};

/// The halving tree in the order of ranks from the root on. In a gather each rank tells its parent what its segment will have. In a scatter
/// each is told by its parent the sizes of the blocks that it will get, 8 bytes for each.
Task binomial_gather_place(Operation& op, SegmentPlace& place);
Task binomial_scatter_place(Operation& op, SegmentPlace& place);

/// Träff's adaptive binomial tree (trees/adaptive.hpp), as it is built by its own ranks. In round d the neighbouring segments of 2^d ranks
/// are merged. The first rank of a segment speaks for it: the two tell each other the sums and the roots of their segments, so both know
/// which root receives, and tell it to their roots. So there are two short messages in each of ceil(log2 n) rounds, whatever the sizes are,
/// and no rank knows more than its own part. Blocks of kStraight bytes and more go straight to the root.
Task adaptive_place(Operation& op, SegmentPlace& place);

/// Where a block is so long, to send it by itself costs an eighth more at most than to have it come with others (kMessageBytes for a
/// message), and in a tree it may be sent several times.
inline constexpr std::uint64_t kMessageBytes = 8192, kStraight = 8 * kMessageBytes;

/// The best ordered tree (trees/optimal.hpp), which the root finds and sends to everybody down a binomial tree, with what it counts for
/// each rank: 16 bytes for each rank. Where there are more than kMostOptimalRanks it is the adaptive one.
Task optimal_place(Operation& op, SegmentPlace& place);

/// The dynamic program is then less than a few milliseconds.
inline constexpr int kMostOptimalRanks = 256;

/// The place of a rank in an ordered tree. `sizes`: of all blocks, as they are in segments.
SegmentPlace place_in(const BlockTree& tree, std::span<const std::uint64_t> sizes, int rank);

}  // namespace rollcall::collectives
