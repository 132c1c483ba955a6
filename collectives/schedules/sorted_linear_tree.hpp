/// \file
/// An allreduce by a chain of ranks in the order of their arrival.
#pragma once

#include "collectives/schedules/chunk_messages.hpp"

namespace rollcall::collectives {

/// The elements are cut into pieces. What the last rank of `order` has combined goes to the first one, and down the chain again. For P
/// ranks and S pieces this takes 2 P + S - 3 rounds, in which a rank sends at most two messages and receives at most two. There are 2 (P -
/// 1) S messages. Returns those in which rank `only` takes part (or all, with kOfAllRanks). Takes O(P + S) time for one rank, and O(P S)
/// for all.
std::vector<ChunkMessage> sorted_linear_tree(std::span<const int> order, int pieces, int only = kOfAllRanks);

}  // namespace rollcall::collectives
