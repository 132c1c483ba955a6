/// \file
/// An allreduce made of Clairvoyant's reduction and a broadcast that follows it segment by segment.
#pragma once

#include <span>
#include <vector>

#include "collectives/schedules/chunk_messages.hpp"

namespace rollcall::collectives {

/// For ranks that arrive at these times. `segments`: N, from 1. `round_time`: about the time that the transfer of a segment takes, above 0.
/// The root is the rank that arrives first. In each round a rank sends at most one segment and receives at most one. If one rank is late by
/// more than the reduction of the others takes, everything ends N + log2 P rounds after its arrival, or up to a quarter later. If all ranks
/// come at the same time, it takes at most 2 N + 2 log2 P rounds. (Several numbers of ranks up to 128, and of segments up to 256, were
/// tried.)
///
/// Returns the messages of all ranks. Throws as clairvoyant() does. Takes the time of clairvoyant() and that of Spreading: about 10 ms for
/// 64 ranks and 256 segments.
std::vector<ChunkMessage> clairvoyant_allreduce(std::span<const Nanoseconds> arrivals, int segments, Nanoseconds round_time);

/// A time before which such a schedule cannot end (predicted_end.hpp), where each message takes `round_time`. For at least two ranks.
/// O(P) time.
Nanoseconds clairvoyant_allreduce_earliest_end(std::span<const Nanoseconds> arrivals, int segments, Nanoseconds round_time);

}  // namespace rollcall::collectives
