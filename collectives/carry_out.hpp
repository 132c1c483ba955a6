/// \file
/// What one rank does of a schedule, with the elements of a call.
#pragma once

#include <functional>
#include <span>

#include "collectives/combining.hpp"
#include "collectives/schedules/steps.hpp"

namespace rollcall::collectives {

/// Carries out the steps, in their order: a send is begun and may go on, what is received is waited for. What this rank has of a segment is
/// what it brings, until something was received into its place in `own`, which is as long as the contribution and may be the same. Where
/// operands are combined that of the lower rank stands left. Uses the steps from `first_step` on.
Task carry_out(Operation& op, std::span<const Step> steps, std::vector<Share> segments, transport::Bytes own, std::uint64_t first_step);

/// The elements in pieces of about `segment` bytes (0: in one), but not in more than `most`.
std::vector<Share> pieces_of(const Operation& op, std::uint64_t segment, std::uint64_t most);

}  // namespace rollcall::collectives
