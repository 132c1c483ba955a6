/// \file
/// The two groups of an intercommunicator, and how the data of one is shared out among the ranks of the other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/blocks.hpp"
#include "collectives/members.hpp"
#include "collectives/parts.hpp"
#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

/// As a rank of one of them sees them.
struct Sides {
    Members own, other;
    int member;  ///< Of the own ones: this rank.
};

inline Sides sides_of(const Operation& op) {
    const Members first{.first = 0, .size = op.first_group()}, second{.first = op.first_group(), .size = op.size() - op.first_group()};
    const bool is_first = op.rank() < first.size;
    return {is_first ? first : second, is_first ? second : first, op.rank() - (is_first ? 0 : first.size)};
}

/// Broadcasts `data` of rank `root` to some ranks, of which it is none: what is short down a binomial tree, what is long in pieces down a
/// chain. Uses the steps from `step` on.
Task broadcast_to(Operation& op, int root, const Members& others, transport::Bytes data, std::uint64_t step);
/// So much is short.
inline constexpr std::uint64_t kShortBroadcast = 8192;

/// The blocks of both groups, in bytes.
struct BothBlocks {
    Parts own, other;
};
/// Blocks of one size in each group.
BothBlocks equal_blocks(const Operation& op, const Sides& sides);
/// Blocks of own sizes: a rank knows those of the other group and its own one; the others of its group tell it theirs, in
/// ceil(log2(size)) steps. The groups then compare what they know of each other: where that differs the operation fails on all ranks.
/// Uses the steps from `step` on, kStepsForSizes at most.
Task blocks_of_both(Operation& op, const Sides& sides, std::uint64_t step, BothBlocks& blocks);
inline constexpr std::uint64_t kSizesStep = 0, kStepsForSizes = 64;

/// Where the data of the other group come together, block behind block: where they are to be, or beside it where the program wants its
/// blocks in another order, or with gaps.
class Assembled {
  public:
    Assembled(const Operation& op, const Parts& blocks);
    transport::Bytes bytes() const { return bytes_; }
    bool is_beside() const { return scratch_.has_value(); }

  private:
    std::optional<Scratch> scratch_;
    transport::Bytes bytes_;
};
/// Copies the blocks to where they are to be.
Task place_blocks(Operation& op, const Assembled& data, const Parts& blocks);

}  // namespace rollcall::collectives
