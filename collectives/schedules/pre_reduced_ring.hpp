/// \file
/// A ring allreduce in which early ranks combine some blocks before the other ranks arrive.
#pragma once

#include "collectives/schedules/chunk_messages.hpp"

namespace rollcall::collectives {

/// There is one chunk for each rank. `round_time`, above 0, is about the time that the message of a chunk takes. If all ranks arrive at the
/// same time, this is the plain ring of the ranks in their order: 2 (P - 1) rounds, in each of which every rank sends a chunk and receives
/// one. The ring never has more rounds. There are always 2 P (P - 1) messages. Returns those in which rank `only` takes part (or all, with
/// kOfAllRanks), in any order. O(P log P) time for one rank, and O(P^2) time for all.
std::vector<ChunkMessage> pre_reduced_ring(std::span<const Nanoseconds> arrivals, Nanoseconds round_time, int only = kOfAllRanks);

}  // namespace rollcall::collectives
