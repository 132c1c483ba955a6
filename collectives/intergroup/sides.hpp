/// \file
/// The two groups of an intercommunicator, and how the data of one group is shared out among the ranks of the other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/blocks/blocks.hpp"
#include "collectives/blocks/members.hpp"
#include "collectives/blocks/parts.hpp"
#include "collectives/relay.hpp"
#include "runtime/engine/operation.hpp"

namespace rollcall::collectives {

/// The two groups from the point of view of one rank.
struct Sides {
    Members own, other;
    int member;  ///< This rank's number within its own group.
};

inline Sides sides_of(const Operation& op) {
    const Members first{.first = 0, .size = op.first_group()}, second{.first = op.first_group(), .size = op.size() - op.first_group()};
    const bool is_first = op.rank() < first.size;
    return {is_first ? first : second, is_first ? second : first, op.rank() - (is_first ? 0 : first.size)};
}

inline std::vector<int> ranks_of(const Members& group) {
    std::vector<int> ranks;
    for (int member = 0; member < group.size; ++member) ranks.push_back(group.rank(member));
    return ranks;
}

/// A rank and the ranks of the group that it exchanges data with, behind it.
inline std::vector<int> with_group(int rank, const Members& group) {
    std::vector<int> ranks{rank};
    for (int member = 0; member < group.size; ++member) ranks.push_back(group.rank(member));
    return ranks;
}

/// The blocks of both groups, as ranges of bytes.
struct BothBlocks {
    Parts own, other;
};
/// For blocks that have one size in each group.
BothBlocks equal_blocks(const Operation& op, const Sides& sides);
/// For blocks of different sizes. A rank knows the sizes of the other group and its own one. The other ranks of its group tell it theirs,
/// in ceil(log2(size)) steps. Then the groups compare what they know of each other; if it differs, the operation fails on all ranks. Uses
/// the steps from `step` on, at most kStepsForSizes of them.
Task blocks_of_both(Operation& op, const Sides& sides, std::uint64_t step, BothBlocks& blocks);
inline constexpr std::uint64_t kSizesStep = 0, kStepsForSizes = 64;
/// The blocks of this call, by one of these two. Uses the first kStepsForSizes steps.
Task find_blocks(Operation& op, const Sides& sides, BothBlocks& blocks);

/// The place where the data of the other group is put together, block behind block. This is the final place, or memory of its own if the
/// program wants its blocks in another order or with gaps.
class Assembled {
  public:
    Assembled(const Operation& op, const Parts& blocks);
    transport::Bytes bytes() const { return bytes_; }
    bool is_beside() const { return scratch_.has_value(); }

  private:
    std::optional<Scratch> scratch_;
    transport::Bytes bytes_;
};
/// Copies the blocks to their final places, if they are not there.
Task place_blocks(Operation& op, const Assembled& data, const Parts& blocks);

}  // namespace rollcall::collectives
