// Arrival-ordered alltoall on two levels. After Y. Qian and A. Afsahi, "Process arrival pattern aware alltoall and allgather on InfiniBand
// clusters", International Journal of Parallel Programming 2011. The levels are those of two_level.cpp.
//
// Idea: the ranks of a node combine what they send to another node, as in two_level. A node has arrived when all of its ranks have: then
// the rank that sends for it announces this on the boards of the ranks whose messages it waits for. It first sends to nodes that have
// arrived. While none waits, it sends ahead, one message at a time.
//
// Blocks of different sizes need no notices, and two_level itself serves the nodes as they arrive (two_level_own_sizes.cpp). Blocks of one
// size do, so this is an algorithm of its own. When all ranks arrive at the same time, two_level takes less time: a notice costs as much as
// a short message. Without notices, a node could only look whose messages have come. Then two nodes would often send to one at a time,
// which took up to 1.4 times as long in simulations.
//
// Example: nodes {0 1} {2 3} {4 5} {6 7}, lanes, a message of two blocks takes 2, copies take no time, full duplex, room to land, the nodes
// arrive at 0, 9, 0 and 9. Ranks 0, 1, 4 and 5 see that nodes 0 and 2 have arrived, and 0-4 and 1-5 exchange until 2. Then they send ahead
// to nodes 1 and 3 until 6. Nodes 1 and 3 arrive at 9, exchange with each other, and send to nodes 0 and 2. All ranks leave at 15.
#include <functional>
#include <vector>

#include "collectives/alltoall/two_level.hpp"
#include "collectives/arrivals/roster.hpp"

namespace rollcall::collectives {

Task exchange_as_nodes_arrive(Operation& op, std::span<const NodeMessage> to, std::span<const NodeMessage> from) {
    std::vector<Pending> receiving;
    std::vector<NodeMessage> landed;  // What is here is only to be copied, for which no other rank waits: last.
    for (const auto& [rank, bytes] : from) {
        if (op.has_landed(rank, 0)) {
            landed.push_back({rank, bytes});
            continue;
        }
        receiving.push_back(op.receive(rank, bytes, 0));
        if (!receiving.back().done()) op.announce_arrival(rank);
    }
    std::vector<int> served;
    std::vector<transport::ConstBytes> messages(static_cast<std::size_t>(op.size()));
    for (const auto& [rank, bytes] : to) {
        served.push_back(rank);
        messages[static_cast<std::size_t>(rank)] = bytes;
    }
    // By rank from this one on: in the order of arrival, all nodes would begin with the same one.
    Roster roster(op.size(), op.rank(), served, Arrived::by_rank);
    const std::function<transport::ConstBytes(int)> message = [&](int rank) { return messages[static_cast<std::size_t>(rank)]; };
    co_await serve_as_they_arrive(op, roster, message);
    for (const auto& [rank, bytes] : landed) receiving.push_back(op.receive(rank, bytes, 0));
    co_await op.all_of(receiving);
}

Task alltoall_arrival_ordered_two_level(Operation& op) { return alltoall_on_two_levels(op, ServeNodes::as_they_arrive); }

}  // namespace rollcall::collectives
