/// \file
/// The tree down which a message travels in pieces. A pure function of sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::collectives {

/// The largest number of children that a place of pipelined_tree() has.
inline constexpr std::size_t kPipelinedChildren = 2;

/// A place in the tree. Positions are 0 .. members-1. Position 0 gets the message from outside the tree.
struct PipelinedPlace {
    std::size_t parent = 0;  ///< At position 0: 0.
    std::vector<std::size_t> children;
};

/// The place of `position` among `members` positions, for a message of `pieces` pieces. A chain takes (members + pieces - 1) piece times,
/// and every member sends the message once. It is best while there are no more members than pieces. With more members, a binary tree is
/// used: a member sends every piece twice, and the tree takes about 2 (log2 members + pieces). A whole message (one piece) goes down a
/// chain, because that is the model in which a message is forwarded from its first bit on (Patarasuk and Yuan, section 3.1). Example: 3
/// members, 64 pieces: 0 -> 1 -> 2. 7 members, 2 pieces: 0 -> 1, 2; 1 -> 3, 4; 2 -> 5, 6.
PipelinedPlace pipelined_tree(std::size_t members, std::uint64_t pieces, std::size_t position);

}  // namespace rollcall::collectives
