/// \file
/// What the forms of the alltoall on two levels have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collectives/alltoall/alltoall.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {

/// The ranks, node by node.
struct NodeOrder {
    explicit NodeOrder(const Levels& levels) {
        for (int node = 0; node < levels.nodes(); ++node) {
            first.push_back(ranks.size());
            ranks.insert(ranks.end(), levels.on(node).begin(), levels.on(node).end());
        }
    }
    std::vector<int> ranks;
    std::vector<std::size_t> first;  ///< How many ranks are on the nodes before this one.
};

/// In which order a node sends blocks of one size to the others: in a fixed one, or first to those that have arrived.
enum class ServeNodes { in_turn, as_they_arrive };

Task alltoall_on_two_levels(Operation& op, ServeNodes order);
/// For blocks that have sizes of their own. Serves nodes as they arrive.
Task alltoall_two_level_own_sizes(Operation& op, const Levels& levels);
/// The same where each rank knows the sizes of all blocks. Then no sizes are told, and nodes are served in a fixed order.
using SizeOfBlock = std::function<std::uint64_t(int from, int to)>;
Task alltoall_two_level_known_sizes(Operation& op, const Levels& levels, const SizeOfBlock& size_of);

/// What goes to a rank of another node, or comes from it.
struct NodeMessage {
    int rank;
    transport::Bytes bytes;
};
/// Sends these messages, first to the ranks that have arrived, and receives those. This rank's node has arrived.
Task exchange_as_nodes_arrive(Operation& op, std::span<const NodeMessage> to, std::span<const NodeMessage> from);

}  // namespace rollcall::collectives
