/// \file
/// Gathers and scatters over a tree in which ranks pass on segments. A segment is the blocks of neighbouring ranks, side by side. Blocks
/// may have sizes of their own; nothing is sent for empty ones.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {

/// What a rank knows of its tree. Each rank has a position, and blocks stand in segments in the order of positions.
struct SegmentPlace {
    /// The positions first .. last, whose blocks have `bytes` bytes together.
    struct Child {
        int rank;
        int first, last;
        std::uint64_t bytes;
    };
    int parent = -1;
    int position = 0;
    std::uint64_t own = 0;        ///< Size of its own block in its segment.
    std::vector<Child> children;  ///< In the order of a gather. A scatter takes them in the reverse order.
    /// At the root: the rank at position 0. Higher ranks follow at the next positions, and rank 0 follows the last rank.
    int first_rank = 0;
    std::vector<int> order;  ///< At the root: the rank at each position, if it is not as `first_rank` says.
    /// Blocks of at least this many bytes go straight between their rank and the root, and count as empty in segments.
    std::uint64_t straight_from = std::numeric_limits<std::uint64_t>::max();

    std::uint64_t in_segment(std::uint64_t block) const { return block < straight_from ? block : 0; }
    std::uint64_t bytes() const {
        std::uint64_t sum = own;
        for (const Child& child : children) sum += child.bytes;
        return sum;
    }
};

/// At the root: the rank at this position.
inline int rank_at(const Operation& op, const SegmentPlace& place, int position) {
    if (!place.order.empty()) return place.order[static_cast<std::size_t>(position)];
    return static_cast<int>((static_cast<long long>(place.first_rank) + position) % op.size());
}

/// Each rank collects its segment and sends it to its parent. A planned rank collects before its caller arrives.
Task gather_segments(Operation& op, const SegmentPlace& place);

/// Each rank gets its segment from its parent and sends its children their segments, whether its caller has arrived or not.
Task scatter_segments(Operation& op, const SegmentPlace& place);

}  // namespace rollcall::collectives
