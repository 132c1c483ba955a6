/// \file
/// An allreduce by a chain of ranks in the order of their arrival.
#pragma once

#include "collectives/schedules/chunk_messages.hpp"

namespace rollcall::collectives {

/// In pieces. What the last of `order` has combined goes to the first one, and down the chain again: 2 P + S - 3 rounds for P ranks and S
/// pieces, in which a rank sends two messages at most and receives two; 2 (P - 1) S messages. Of those of rank `only`. O(P S) time.
std::vector<ChunkMessage> sorted_linear_tree(std::span<const int> order, int pieces, int only = kOfAllRanks);

}  // namespace rollcall::collectives
