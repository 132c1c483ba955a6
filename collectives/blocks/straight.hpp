/// \file
/// Each rank has something for each other rank, and sends it there directly.
#pragma once

#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {

/// The step of these messages.
inline constexpr std::uint64_t kStraightStep = 0;

/// Sends each other rank what `block` gives for it, one rank after the other, beginning with the next rank. At the same time receives the
/// blocks of the other ranks into `data`, as they come. Round i sends to rank + i and receives from rank - i, so that no rank is sent two
/// blocks at a time while all ranks keep step. Where blocks land early, a late rank delays the others only by its own blocks (with more
/// than 64 ranks: by those of the last 32 rounds).
Task send_straight(Operation& op, BlockFor block);

}  // namespace rollcall::collectives
