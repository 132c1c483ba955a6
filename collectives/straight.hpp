/// \file
/// Each rank has something for each other one, which goes there straight.
#pragma once

#include "collectives/blocks.hpp"

namespace rollcall::collectives {

/// The step of these messages.
inline constexpr std::uint64_t kStraightStep = 0;

/// Sends each other rank what `block` gives for it, one after the other, the next rank first, and takes their blocks into `data` at the
/// same time, as they come. Round i goes to rank + i and comes from rank - i, so that no rank is sent two blocks at a time while all keep
/// step. Where blocks land early a rank that is late holds nobody up but by its own ones (with more than 64 ranks: of the last 32 rounds).
Task send_straight(Operation& op, BlockFor block);

}  // namespace rollcall::collectives
