// Broadcast on two levels. It is our own; the levels are those of R. Graham et al., "Cheetah: a framework for scalable hierarchical
// collective operations", CCGrid 2011.
//
// Idea: one rank of each node passes the message on to other nodes: the root on its own node, and the lowest rank on each other node. It
// then publishes the message in the memory of its node, where the others copy it out when they come. A rank that passes the message on need
// not have arrived: its part begins with the first message (runtime/engine/deputy.hpp). So a node has arrived when its first rank has.
//
// Example: nodes {0 1} {2 3} {4 5}, root 1, a message takes 5, a copy takes 1, all ranks arrive at 0. 1->2 until 5, 1->4 until 10. Rank 1
// writes for rank 0 until 11, and 0 copies until 12. Rank 2 writes until 6, rank 3 copies until 7; rank 4 writes until 11, rank 5 copies
// until 12.
#include <algorithm>

#include "collectives/broadcast/broadcast.hpp"
#include "collectives/published/published.hpp"
#include "collectives/relay.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {
namespace {

/// Steps of the messages between nodes. The message that replaces a publication has the step before.
constexpr std::uint64_t kBroadcastBetweenNodes = kPublishedStep + 1;

}  // namespace

Task broadcast_two_level(Operation& op) {
    if (op.rank() == op.root()) co_await op.arrival();
    const Levels levels(op);
    const runtime::Arguments arguments = op.arguments();
    const int node_of_root = levels.node_of(op.root());
    const std::vector<int> leaders = levels.leaders(op.root());
    const int leader = leaders[static_cast<std::size_t>(levels.node())];
    if (op.rank() == leader && levels.nodes() > 1) {
        runtime::Arguments between = arguments;
        between.segment_bytes = arguments.data.size <= kWholeToNodes ? 0 : chain_between_nodes(op, arguments.data.size, levels.nodes());
        const Among nodes(op, leaders, levels.node(), node_of_root, between, kBroadcastBetweenNodes);
        if (between.segment_bytes == 0)
            co_await broadcast_binomial(op);
        else
            co_await broadcast_pipelined(op);
    }
    if (levels.here().size() == 1) co_return;
    const auto place_of_leader = static_cast<int>(std::find(levels.here().begin(), levels.here().end(), leader) - levels.here().begin());
    const Among node(op, levels.here(), levels.place(), place_of_leader, arguments);
    if (levels.place() == place_of_leader)
        co_await publish_all(op, kEverybody, arguments.data);
    else
        co_await copy_all(op, place_of_leader, true, arguments.data);
}

}  // namespace rollcall::collectives
