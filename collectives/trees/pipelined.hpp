/// \file
/// The tree a message runs down in pieces. A pure function of sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::collectives {

/// Most children that a place of pipelined_tree() has.
inline constexpr std::size_t kPipelinedChildren = 2;

/// Positions 0 .. members-1; position 0 is fed from outside.
struct PipelinedPlace {
    std::size_t parent = 0;  ///< Itself at position 0.
    std::vector<std::size_t> children;
};

/// Where `position` of `members` stands, for a message of `pieces` pieces. A chain takes (members + pieces - 1) piece
/// times, every member sending the message once: best while there are no more members than pieces. Beyond that a binary
/// tree, in which a member sends every piece twice, takes about 2 (log2 members + pieces). A whole message (one piece)
/// goes down a chain: that is the model in which a message is forwarded from its first bit on (Patarasuk and Yuan,
/// section 3.1).
/// Example: 3 members, 64 pieces: 0 -> 1 -> 2. 7 members, 2 pieces: 0 -> 1, 2; 1 -> 3, 4; 2 -> 5, 6.
PipelinedPlace pipelined_tree(std::size_t members, std::uint64_t pieces, std::size_t position);

}  // namespace rollcall::collectives
