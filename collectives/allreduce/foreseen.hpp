/// \file
/// What the allreduces have in common that are for arrivals that are expected.
#pragma once

#include "collectives/carry_out.hpp"

namespace rollcall::collectives {

struct ForeseenPart {
    std::vector<Share> segments;
    std::vector<Step> steps;  ///< Of this rank.
};
using MakePart = ForeseenPart (*)(const Operation& op, std::span<const Nanoseconds> arrivals);

/// Rank 0 tells all when each rank is expected; each makes its part of the schedule for that, and carries it out when its caller has come.
Task allreduce_foreseen(Operation& op, MakePart make);

}  // namespace rollcall::collectives
