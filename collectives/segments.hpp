/// \file
/// Gathers and scatters over a tree in which ranks pass on segments, blocks of neighbours that stand side by side. Blocks may have sizes of
/// their own; nothing is sent for empty ones.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "collectives/blocks.hpp"

namespace rollcall::collectives {

/// What a rank knows of its tree. Ranks have positions, in whose order their blocks stand in segments.
struct SegmentPlace {
    /// Positions first .. last, with `bytes` of blocks together.
    struct Child {
        int rank;
        int first, last;
        std::uint64_t bytes;
    };
    int parent = -1;
    int position = 0;
    std::uint64_t own = 0;        ///< Bytes of its own block in its segment.
    std::vector<Child> children;  ///< In the order of a gather; a scatter goes backwards.
    /// At the root: the rank at position 0; those after it follow, and rank 0 follows the last one.
    int first_rank = 0;
    /// Blocks of so many bytes and more go straight between their rank and the root, and count as empty in segments.
    std::uint64_t straight_from = std::numeric_limits<std::uint64_t>::max();

    std::uint64_t in_segment(std::uint64_t block) const { return block < straight_from ? block : 0; }
    std::uint64_t bytes() const {
        std::uint64_t sum = own;
        for (const Child& child : children) sum += child.bytes;
        return sum;
    }
};

/// At the root: the rank at a position.
inline int rank_at(const Operation& op, const SegmentPlace& place, int position) {
    return static_cast<int>((static_cast<long long>(place.first_rank) + position) % op.size());
}

/// Each rank collects its segment, and sends it to its parent.
Task gather_segments(Operation& op, const SegmentPlace& place);

/// Each rank gets its segment from its parent, and sends the children theirs.
Task scatter_segments(Operation& op, const SegmentPlace& place);

}  // namespace rollcall::collectives
