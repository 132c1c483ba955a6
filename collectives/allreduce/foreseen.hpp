/// \file
/// What the allreduces that follow a schedule have in common. The schedule is made for the times at which ranks are expected.
#pragma once

#include "collectives/combining/carry_out.hpp"

namespace rollcall::collectives {

struct ForeseenPart {
    std::vector<Share> segments;
    std::vector<Step> steps;  ///< What this rank does, in order.
};
using MakePart = ForeseenPart (*)(const Operation& op, std::span<const Nanoseconds> arrivals);

/// Rank 0 tells all ranks when each rank is expected. Each rank makes its part of the schedule for these times, and carries it out when its
/// caller has arrived.
Task allreduce_foreseen(Operation& op, MakePart make);

}  // namespace rollcall::collectives
