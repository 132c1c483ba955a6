// Gather on two levels. It is our own; the levels are those of R. Graham et al., "Cheetah: a framework for scalable hierarchical collective
// operations", CCGrid 2011.
//
// Idea: one rank of each node collects the blocks of its node, in whatever order they come: the root on its own node, and the lowest rank
// on each other node. The others write their block into the memory of the node, and leave. A rank that has all blocks of its node sends
// them to the root as one message. So as many messages enter the root as there are other nodes, whatever the number of ranks. A rank that
// collects need not wait for the ranks of its node: its part goes on without it (runtime/engine/deputy.hpp).
//
// Example: nodes {0 1} {2 3}, root 0, blocks a b c d, a message with a block takes 5, a copy of a block takes 1, all ranks arrive at 0.
// Ranks 1 and 3 write until 1 and leave. Ranks 0 and 2 copy their own block until 1, and the other one until 2. 2->0 (c d) until 12.
#include <vector>

#include "collectives/blocks/blocks.hpp"
#include "collectives/gather/gather.hpp"
#include "collectives/published/published.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {
namespace {

/// The step of the messages between nodes.
constexpr std::uint64_t kGatheredBetweenNodes = kPublishedStep + 1;

/// Collects the blocks of a node. At the root they go to the places of their ranks in its data; elsewhere they stand in `collected`, in the
/// order of ranks.
Task gather_on_node(Operation& op, const Levels& levels, int leader, transport::Bytes collected) {
    const std::vector<int>& here = levels.here();
    const std::uint64_t bytes = op.call().bytes;
    runtime::Arguments on_node = op.arguments();
    std::vector<runtime::Block> at_root;
    if (op.rank() == op.root()) {
        // (Between two groups the root has no block: it is the last rank here.)
        for (const int rank : here)
            at_root.push_back({bytes * static_cast<std::uint64_t>(rank), rank == op.root() ? on_node.contribution.size : bytes});
        on_node.blocks = at_root.data();
    } else {
        on_node.data = collected;
    }
    const int place_of_leader = levels.place_of(leader);
    const Among node(op, here, levels.place(), place_of_leader, on_node);
    co_await gather_shared_memory(op);
}

/// The root's part: a message from each other node, and the blocks of its own node.
Task gather_at_root(Operation& op, const Levels& levels, const std::vector<int>& leaders) {
    const transport::Bytes data = op.arguments().data;
    const std::uint64_t bytes = op.call().bytes;
    // Where the ranks of a node do not follow one another, its blocks are put in order when they have come.
    struct Part {
        int node;
        transport::Bytes into;
        bool is_in_place;
        Pending come;
    };
    std::vector<Part> parts;
    std::uint64_t out_of_place = 0;
    for (int node = 0; node < levels.nodes(); ++node) {
        const std::vector<int>& ranks = levels.on(node);
        if (consecutive(ranks) < ranks.size() && node != levels.node()) out_of_place += bytes * ranks.size();
    }
    const Scratch scratch(out_of_place, data);
    std::uint64_t at = 0;
    for (int node = 0; node < levels.nodes(); ++node) {
        if (node == levels.node()) continue;
        const std::vector<int>& ranks = levels.on(node);
        const bool is_in_place = consecutive(ranks) == ranks.size();
        const std::uint64_t size = bytes * ranks.size();
        const transport::Bytes into = is_in_place ? blocks_of(data, bytes, static_cast<std::size_t>(ranks[0]), ranks.size())
                                                  : runtime::slice(scratch.bytes(), at, size);
        if (!is_in_place) at += size;
        parts.push_back({node, into, is_in_place, op.receive(leaders[static_cast<std::size_t>(node)], into, kGatheredBetweenNodes)});
    }
    co_await gather_on_node(op, levels, op.root(), {});
    for (const Part& part : parts) {
        co_await part.come;
        if (!part.is_in_place) co_await copy_runs(op, bytes, levels.on(part.node), part.into, data, Copy::out_of_list);
    }
}

}  // namespace

Task gather_two_level(Operation& op) {
    const Levels levels(op);
    const std::vector<int> leaders = levels.leaders(op.root());
    const int leader = leaders[static_cast<std::size_t>(levels.node())];
    if (op.rank() == op.root()) {
        co_await gather_at_root(op, levels, leaders);
    } else if (op.rank() != leader) {
        co_await gather_on_node(op, levels, leader, {});
    } else if (levels.here().size() == 1) {
        co_await op.arrival();
        co_await op.send(op.root(), op.arguments().contribution, kGatheredBetweenNodes);
    } else {
        const PassedOn collected(op, op.arguments().contribution, levels.here().size());
        co_await gather_on_node(op, levels, leader, collected.bytes());
        co_await op.send(op.root(), collected.bytes(), kGatheredBetweenNodes);
    }
}

}  // namespace rollcall::collectives
