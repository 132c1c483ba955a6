/// \file
/// Carries out one rank's part of a schedule on the elements of a call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/combining/combining.hpp"
#include "collectives/schedules/steps.hpp"

namespace rollcall::collectives {

/// Carries out the steps in their order: a send is begun when those of earlier rounds are over; a receive is waited for. At first this
/// rank's value of a segment is its contribution. Once something has been received into the segment's place in `own`, that is its value.
/// `own` is as long as the contribution and may be the same memory. When operands are combined, the operand of the lower rank is the left
/// one. Uses the steps from `first_step` on.
Task carry_out(Operation& op, std::span<const Step> steps, std::vector<Share> segments, transport::Bytes own, std::uint64_t first_step);

/// Cuts the elements into pieces of about `segment` bytes (0: one piece), but into at most `most` pieces.
std::vector<Share> pieces_of(const Operation& op, std::uint64_t segment, std::uint64_t most);

}  // namespace rollcall::collectives
