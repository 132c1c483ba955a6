/// \file
/// Schedules of allreduces: which chunk of the elements goes from which rank to which rank, in which order.
#pragma once

#include <span>
#include <vector>

#include "collectives/schedules/steps.hpp"

namespace rollcall::collectives {

/// A chunk goes from one rank to another. The sender sends what it had before the round.
struct ChunkMessage {
    int round;  ///< From 0.
    int sender, receiver;
    int chunk;
    bool combine;  ///< The receiver combines it with its own chunk. Else it replaces that chunk.

    bool operator==(const ChunkMessage&) const = default;
};

/// The steps of `rank`, sorted by round, in a round the sends first, then by chunk.
std::vector<Step> steps_of(std::span<const ChunkMessage> messages, int rank);

/// The ranks in the order in which they arrive. Ranks that arrive at the same time are sorted by number.
std::vector<int> order_of_arrival(std::span<const Nanoseconds> arrivals);

/// As the argument `only` of a schedule: the messages of all ranks are wanted.
inline constexpr int kOfAllRanks = -1;

}  // namespace rollcall::collectives
