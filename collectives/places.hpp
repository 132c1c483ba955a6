/// \file
/// Who stands where in the halving tree of a scatter or gather.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/blocks.hpp"
#include "collectives/trees/halving.hpp"

namespace rollcall::collectives {

/// The steps of the messages of a tree.
inline constexpr std::uint64_t kTreeBlocks = 0, kTreePlace = 1;

/// What a rank knows of its tree.
struct Places {
    HalvingPlace own;
    std::vector<int> ranks;  ///< At the root: all ranks in order of position.

    std::vector<std::int32_t> told;  ///< At the root: what is on its way to the others, which must stay
    std::vector<Pending> telling;    ///< until these have ended.
};

/// In the order of ranks, from the root on.
Places places_by_rank(const Operation& op, int root);
inline Places places_by_rank(const Operation& op) { return places_by_rank(op, op.root()); }

/// Which ranks stand near the root, with the blocks of many.
enum class Nearest { earliest, latest };

/// In the order of arrival, which the root decides: as soon as every other rank has arrived or is predicted, or when its own
/// caller has arrived, whichever is first. What is unknown then goes by rank. On every rank this ends when it knows its
/// place, whether its caller has arrived or not.
///
/// A rank is told of its parent and its children, O(log n) numbers, and by the root itself: the whole list for everybody
/// would cost n^2 numbers, and passed down the tree it would come from a rank that its receiver cannot name.
Task places_by_arrival(Operation& op, Nearest nearest, Places& places);

}  // namespace rollcall::collectives
