/// \file
/// The building block of trees and chains: receive a message from one rank and pass it on to others, piece by piece.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/blocks/members.hpp"
#include "runtime/engine/operation.hpp"

namespace rollcall::collectives {

using runtime::Operation;
using runtime::Pending;
using runtime::Task;

/// Receives `data` from rank `from` (-1: it is here already) and sends it to the ranks `to`, in that order, in pieces of `segment` bytes. A
/// piece is passed on as soon as it is here. Uses the steps from `step` on, one for each piece.
/// A whole message goes to one rank after the other, because the first rank has the most work to do with it. Of a message in pieces, a few
/// pieces at a time are under way.
Task relay(Operation& op, transport::Bytes data, int from, std::vector<int> to, std::uint64_t segment, std::uint64_t step);
/// The same for the data and the segments of the call. A caller that comes meanwhile gets each piece that is here (Operation::note_here()).
Task relay_to_caller(Operation& op, int from, std::vector<int> to);

/// Broadcast `data` of rank `root` to the ranks `others`, which do not include `root`: down a binomial tree, or in pieces down a chain. Use
/// the steps from `step` on.
Task broadcast_down_tree(Operation& op, int root, const Members& others, transport::Bytes data, std::uint64_t step);
Task broadcast_down_chain(Operation& op, int root, const Members& others, transport::Bytes data, std::uint64_t step);
/// The same, by the one of the two that has the lower estimate.
Task broadcast_to(Operation& op, int root, const Members& others, transport::Bytes data, std::uint64_t step);
/// The piece of a chain of `ranks` ranks for so many bytes, as if each rank had a node of its own.
std::uint64_t chain_between_nodes(const Operation& op, std::uint64_t bytes, int ranks);
/// Data of up to this size, in bytes, is short.
inline constexpr std::uint64_t kShortBroadcast = 8192;

}  // namespace rollcall::collectives
