/// \file
/// A ring allreduce in which early ranks combine some blocks before the others come.
#pragma once

#include "collectives/schedules/chunk_messages.hpp"

namespace rollcall::collectives {

/// A chunk for each rank. `round_time`, above 0: about what the message of a chunk takes. Where all arrive at once it is the plain ring of
/// the ranks in their order: 2 (P - 1) rounds, in which each sends a chunk and receives one; in no case has the ring more. There are always
/// 2 P (P - 1) messages. Of those of rank `only`. O(P^2) time.
std::vector<ChunkMessage> pre_reduced_ring(std::span<const Nanoseconds> arrivals, Nanoseconds round_time, int only = kOfAllRanks);

}  // namespace rollcall::collectives
