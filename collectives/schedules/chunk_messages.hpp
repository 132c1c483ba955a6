/// \file
/// Schedules of allreduces: which chunk of the elements goes from whom to whom, in which order.
#pragma once

#include <span>
#include <vector>

#include "collectives/schedules/steps.hpp"

namespace rollcall::collectives {

/// A chunk goes from one rank to another. A rank sends what it had before the round.
struct ChunkMessage {
    int round;  ///< From 0.
    int sender, receiver;
    int chunk;
    bool combine;  ///< With what the receiver has; else in its place.

    bool operator==(const ChunkMessage&) const = default;
};

/// The steps of `rank`: by round, in a round sends first, then by chunk.
std::vector<Step> steps_of(std::span<const ChunkMessage> messages, int rank);

/// The ranks in the order in which they arrive; those that arrive at once, by number.
std::vector<int> order_of_arrival(std::span<const Nanoseconds> arrivals);

/// Whose messages a schedule is to have.
inline constexpr int kOfAllRanks = -1;

}  // namespace rollcall::collectives
