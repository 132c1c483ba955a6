// Scatter on two levels. It is our own; the levels are those of R. Graham et al., "Cheetah: a framework for scalable hierarchical
// collective operations", CCGrid 2011.
//
// Idea: the root sends the lowest rank of each other node the blocks of all ranks of the node, as one message. That rank writes them into
// the memory of its node, where the others copy theirs out when they come; the root does so on its own node. So as many messages leave the
// root as there are other nodes, whatever the number of ranks. A rank that passes blocks on need not have arrived: its part begins with the
// message (runtime/engine/deputy.hpp). So a node has arrived when its first rank has.
//
// Example: nodes {0 1} {2 3}, root 0, a message with a block takes 5, a copy of a block takes 1, all ranks arrive at 0. The root writes the
// block of rank 1 until 1, and copies its own until 2; rank 1 copies until 2. 0->2 (both blocks) until 10. Rank 2 writes until 11, and
// copies its own until 12; rank 3 copies until 12. The root leaves at 10.
#include <vector>

#include "collectives/blocks/blocks.hpp"
#include "collectives/published/published.hpp"
#include "collectives/scatter/scatter.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {
namespace {

/// The step of the messages between nodes.
constexpr std::uint64_t kScatteredBetweenNodes = kPublishedStep + 1;

/// Shares with the ranks of a node the blocks that one of them has: in the order of ranks, or, with `blocks`, where these say.
Task scatter_on_node(Operation& op, const Levels& levels, int leader, transport::Bytes data, const std::vector<runtime::Block>& blocks) {
    const std::vector<int>& here = levels.here();
    runtime::Arguments on_node = op.arguments();
    on_node.data = data;
    on_node.blocks = blocks.empty() ? nullptr : blocks.data();
    const bool is_leader = op.rank() == leader;
    const int place_of_leader = levels.place_of(leader);
    const Among node(op, here, levels.place(), place_of_leader, on_node);
    if (is_leader)
        co_await scatter_from_here(op);
    else
        co_await copy_all(op, place_of_leader, false, on_node.result);
}

Task scatter_from_root(Operation& op, const Levels& levels, const std::vector<int>& leaders) {
    const transport::Bytes data = op.arguments().data;
    const std::uint64_t bytes = op.call().bytes;
    // Blocks that do not stand side by side are put in order first.
    std::uint64_t out_of_place = 0;
    for (int node = 0; node < levels.nodes(); ++node) {
        const std::vector<int>& ranks = levels.on(node);
        if (node != levels.node() && consecutive(ranks) < ranks.size()) out_of_place += bytes * ranks.size();
    }
    const Scratch scratch(out_of_place, data);
    std::uint64_t at = 0;
    std::vector<Pending> sends;
    for (int i = 1; i < levels.nodes(); ++i) {
        const int node = (levels.node() + i) % levels.nodes();
        const std::vector<int>& ranks = levels.on(node);
        transport::Bytes message = blocks_of(data, bytes, static_cast<std::size_t>(ranks[0]), ranks.size());
        if (consecutive(ranks) < ranks.size()) {
            message = runtime::slice(scratch.bytes(), at, bytes * ranks.size());
            at += message.size;
            co_await copy_runs(op, bytes, ranks, message, data, Copy::into_list);
        }
        sends.push_back(op.send(leaders[static_cast<std::size_t>(node)], message, kScatteredBetweenNodes));
    }
    std::vector<runtime::Block> blocks;
    // (Between two groups the root has no block: it is the last rank here.)
    for (const int rank : levels.here())
        blocks.push_back({bytes * static_cast<std::uint64_t>(rank), rank == op.root() ? op.arguments().result.size : bytes});
    co_await scatter_on_node(op, levels, op.root(), data, blocks);
    co_await op.all_of(sends);
}

}  // namespace

Task scatter_two_level(Operation& op) {
    if (op.rank() == op.root()) co_await op.arrival();
    const Levels levels(op);
    const std::vector<int> leaders = levels.leaders(op.root());
    const int leader = leaders[static_cast<std::size_t>(levels.node())];
    const transport::Bytes result = op.arguments().result;
    if (op.rank() == op.root()) {
        co_await scatter_from_root(op, levels, leaders);
    } else if (op.rank() != leader) {
        co_await scatter_on_node(op, levels, leader, {}, {});
    } else if (levels.here().size() == 1) {
        co_await op.receive(op.root(), result, kScatteredBetweenNodes);
    } else {
        const PassedOn received(op, result, levels.here().size());
        co_await op.receive(op.root(), received.bytes(), kScatteredBetweenNodes);
        co_await scatter_on_node(op, levels, leader, received.bytes(), {});
    }
}

}  // namespace rollcall::collectives
