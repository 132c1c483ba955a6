/// \file
/// An allreduce in which several ranks are late together, and the others do most of the work before they arrive.
#pragma once

#include <span>
#include <vector>

#include "collectives/schedules/chunk_messages.hpp"

namespace rollcall::collectives {

/// `order`: the P ranks in the order of their arrival. The last `late` of them, from 1 to P - 1, are late. There are P * `chunks_each`
/// chunks. After the late ranks have arrived, each rank has to receive at least (P + late - 1) / P of the elements. For 8 ranks and 4
/// chunks each, its rounds together take 1.19 times as long as sending all elements once if one rank is late, 1.22 times with two, 1.44
/// with three or four, 1.56 with five, 1.66 with six. A ring takes 1.75 times. Sorted by round. Throws Error{invalid_argument}. Takes O(M
/// R) time for M messages to the owners and R rounds: some milliseconds for 64 ranks.
std::vector<ChunkMessage> late_group_allreduce(std::span<const int> order, int late, int chunks_each);

}  // namespace rollcall::collectives
