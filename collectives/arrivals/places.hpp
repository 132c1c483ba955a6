/// \file
/// The place of each rank in the halving tree of a scatter or gather.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/blocks/blocks.hpp"
#include "collectives/trees/halving.hpp"

namespace rollcall::collectives {

/// The steps of the messages in a tree.
inline constexpr std::uint64_t kTreeBlocks = 0, kTreePlace = 1;

/// What a rank knows of its tree.
struct Places {
    HalvingPlace own;
    std::vector<int> ranks;  ///< At the root: all ranks in order of position.

    std::vector<std::int32_t> told;  ///< At the root: the messages to the other ranks. They must stay until the sends have ended.
    std::vector<Pending> telling;    ///< The sends of these messages.
};

/// The tree in the order of ranks, from the root on.
Places places_by_rank(const Operation& op, int root);
inline Places places_by_rank(const Operation& op) { return places_by_rank(op, op.root()); }

/// Which ranks stand near the root, where a rank passes on the blocks of many others.
enum class Nearest { earliest, latest };

/// The tree in the order of arrival, which the root decides: as soon as every other rank has arrived or is predicted, or when its own
/// caller has arrived, whichever comes first. Ranks that are still unknown then are ordered by rank. On every rank this ends when the rank
/// knows its place, whether its caller has arrived or not.
///
/// The root itself tells each rank its parent and its children, which are O(log n) numbers. Sending the whole list to all ranks would cost
/// n^2 numbers, and if it were passed down the tree, a rank would receive it from a rank that it cannot name in advance.
Task places_by_arrival(Operation& op, Nearest nearest, Places& places);

}  // namespace rollcall::collectives
