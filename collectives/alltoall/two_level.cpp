// Alltoall on two levels. The levels are those of R. Graham et al., "Cheetah: a framework for scalable hierarchical collective operations",
// CCGrid 2011; the lanes are those of J. L. Träff and S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication",
// IEEE Cluster 2020.
//
// Idea: the ranks of a node combine what they send to another node. If the blocks are short, the first rank of each node collects
// everything through the memory of its node, and these ranks exchange one message for each pair of nodes. Each publishes what came, and the
// ranks of its node copy what is theirs. If the blocks are longer, there is a lane for each rank of a node: a rank collects what its node
// has for the ranks that have its place on the other nodes, and sends each of them one message. (Blocks of different sizes:
// two_level_own_sizes.cpp.)
//
// Example: nodes {0 1} {2 3}, a message with a block takes 5, a copy of a block takes 1, all ranks arrive at 0. Ranks 1 and 3 write four
// blocks until 4. Ranks 0 and 2 copy their own blocks until 4, and the others until 8. They exchange four blocks until 28, copy the four
// that stay on the node until 32, and write all eight until 40. Then each rank copies its four until 44.
// In lanes: each rank puts its blocks in order until 4 and writes two for the other rank until 6. It copies the other's two until 8 and
// its own until 10, and puts those for the other node together until 12. It exchanges two blocks until 22.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/alltoall/two_level.hpp"
#include "collectives/published/published.hpp"

namespace rollcall::collectives {
namespace {

using transport::Bytes;
using transport::ConstBytes;

/// The part of the first rank of a node: collects the blocks of its node, exchanges them with the first ranks of the other nodes, and gets
/// all blocks for its node in `incoming`, a row for each rank in node order. A message from node s to node d holds a row of blocks for each
/// rank of s, and in it a block for each rank of d. `own` has this rank's blocks in node order.
Task exchange_between_nodes(Operation& op, const Levels& levels, const NodeOrder& order, ServeNodes served, ConstBytes own,
                            Bytes incoming) {
    const runtime::Arguments arguments = op.arguments();
    const std::vector<int>& here = levels.here();
    const std::size_t ranks = here.size();
    const Scratch outgoing(own.size * ranks, arguments.data);
    std::vector<runtime::Block> messages;
    for (int node = 0; node < levels.nodes(); ++node)
        messages.push_back(
            {op.call().bytes * order.first[static_cast<std::size_t>(node)] * ranks, op.call().bytes * levels.on(node).size() * ranks});
    const auto rows_of = [&](std::size_t other) {
        std::vector<Wanted> rows;
        for (const auto& [offset, size] : messages)
            rows.push_back({offset / ranks, runtime::slice(outgoing.bytes(), offset + size / ranks * other, size / ranks)});
        return rows;
    };
    const std::vector<Wanted> own_rows = rows_of(0);
    co_await copy_wanted(op, own, 0, own_rows);
    if (ranks > 1) {
        std::vector<WantedFrom> others;
        for (std::size_t other = 1; other < ranks; ++other) others.push_back({static_cast<int>(other), own.size, rows_of(other)});
        const Among node(op, here, 0, 0, arguments);
        co_await copy_as_they_come(op, others);
    }
    if (served == ServeNodes::as_they_arrive) {
        const auto part = [&](Bytes all, int node) {
            const runtime::Block& block = messages[static_cast<std::size_t>(node)];
            return runtime::slice(all, block.offset, block.size);
        };
        std::vector<NodeMessage> to, from;
        for (int node = 0; node < levels.nodes(); ++node) {
            if (node == levels.node()) continue;
            to.push_back({levels.on(node)[0], part(outgoing.bytes(), node)});
            from.push_back({levels.on(node)[0], part(incoming, node)});
        }
        co_await exchange_as_nodes_arrive(op, to, from);
        co_await op.copy(part(incoming, levels.node()), part(outgoing.bytes(), levels.node()));
        co_return;
    }
    const std::vector<int> leaders = levels.at_place(0);
    runtime::Arguments between = arguments;
    between.contribution = outgoing.bytes();
    between.data = incoming;
    between.blocks = between.contribution_blocks = messages.data();
    const Among nodes(op, leaders, levels.node(), 0, between);
    co_await alltoall_linear(op);
}

Task alltoall_in_one_lane(Operation& op, const Levels& levels, ServeNodes served) {
    const runtime::Arguments arguments = op.arguments();
    const std::uint64_t bytes = op.call().bytes;
    const std::vector<int>& here = levels.here();
    const int place = levels.place();
    const NodeOrder order(levels);
    const Scratch packed(levels.is_in_rank_order() ? 0 : arguments.contribution.size, arguments.contribution);
    const ConstBytes own = levels.is_in_rank_order() ? arguments.contribution : packed.bytes();
    if (!levels.is_in_rank_order()) co_await copy_into_list(op, bytes, order.ranks, packed.bytes(), arguments.contribution);

    std::vector<Wanted> blocks;
    for (std::size_t row = 0; row < order.ranks.size(); ++row)
        blocks.push_back({bytes * (row * here.size() + static_cast<std::size_t>(place)), block_of(op, order.ranks[row])});
    if (place > 0) {
        const Among node(op, here, place, 0, arguments);
        co_await publish_all(op, 0, own);
        co_await copy_all_wanted(op, 0, true, own.size * here.size(), blocks);
        co_return;
    }
    const Scratch incoming(own.size * here.size(), arguments.data);
    co_await exchange_between_nodes(op, levels, order, served, own, incoming.bytes());
    if (here.size() > 1) {
        const Among node(op, here, place, 0, arguments);
        co_await publish_all(op, kEverybody, incoming.bytes());
    }
    co_await copy_wanted(op, incoming.bytes(), 0, blocks);
}

/// The ranks to which the rank at this place of a node with `count` ranks sends.
void add_ranks_of_lane(const Levels& levels, int place, std::size_t count, std::vector<int>& ranks) {
    for (int node = 0; node < levels.nodes(); ++node)
        for (std::size_t at = static_cast<std::size_t>(place); at < levels.on(node).size(); at += count)
            ranks.push_back(levels.on(node)[at]);
}

/// Brings to this rank what its node has for `ranks_to`, a block from each rank of the node for each of them. `packed` is memory as long as
/// the contribution.
Task collect_lane(Operation& op, const Levels& levels, std::size_t ranks_to, Bytes packed, Bytes collected) {
    const std::uint64_t bytes = op.call().bytes;
    const std::vector<int>& here = levels.here();
    std::vector<int> order;
    std::vector<runtime::Block> sent, received;
    for (std::size_t place = 0; place < here.size(); ++place) {
        const std::size_t before = order.size();
        add_ranks_of_lane(levels, static_cast<int>(place), here.size(), order);
        sent.push_back({bytes * before, bytes * (order.size() - before)});
        received.push_back({bytes * ranks_to * place, bytes * ranks_to});
    }
    runtime::Arguments on_node = op.arguments();
    co_await copy_into_list(op, bytes, order, packed, on_node.contribution);
    on_node.contribution = packed;
    on_node.contribution_blocks = sent.data();
    on_node.data = collected;
    on_node.blocks = received.data();
    const Among node(op, here, levels.place(), 0, on_node);
    co_await alltoall_shared_memory(op);
}

Task alltoall_in_lanes(Operation& op, const Levels& levels, ServeNodes served) {
    const std::uint64_t bytes = op.call().bytes;
    const Bytes data = op.arguments().data;
    const std::size_t ranks = levels.here().size();
    const int place = levels.place();
    const NodeOrder order(levels);
    const Scratch beside(levels.is_in_rank_order() ? 0 : data.size, data);
    const Bytes incoming = levels.is_in_rank_order() ? data : beside.bytes();
    const bool in_turn = served == ServeNodes::in_turn;
    std::vector<int> to;
    add_ranks_of_lane(levels, place, ranks, to);
    // Allocate all long memory before the first receive: if an allocation fails, no receive writes into memory that was freed.
    const ConstBytes contribution = op.arguments().contribution;
    const Scratch packed(contribution.size, contribution), collected(bytes * ranks * to.size(), data),
        outgoing(bytes * ranks * to.size(), data);
    std::vector<NodeMessage> messages_to, messages_from, landed;
    std::vector<Pending> transfers;
    for (int node = 0; node < levels.nodes(); ++node) {
        if (node == levels.node()) continue;
        const std::vector<int>& there = levels.on(node);
        const auto [from, message] =
            messages_from.emplace_back(there[static_cast<std::size_t>(place) % there.size()],
                                       blocks_of(incoming, bytes, order.first[static_cast<std::size_t>(node)], there.size()));
        if (!in_turn) continue;
        // What is here is only to be copied, for which no other rank waits: last.
        if (op.has_landed(from, 0))
            landed.push_back(messages_from.back());
        else
            transfers.push_back(op.receive(from, message, 0));
    }
    co_await collect_lane(op, levels, to.size(), packed.bytes(), collected.bytes());
    // What stays on the node comes last, so that messages leave early.
    const auto own = static_cast<std::size_t>(std::find(to.begin(), to.end(), op.rank()) - to.begin());
    for (std::size_t i = 1; i <= to.size(); ++i) {
        const std::size_t number = (own + i) % to.size();
        const bool stays = number == own;
        const Bytes message = stays ? blocks_of(incoming, bytes, order.first[static_cast<std::size_t>(levels.node())], ranks)
                                    : blocks_of(outgoing.bytes(), bytes, number * ranks, ranks);
        for (std::size_t from = 0; from < ranks; ++from)
            co_await op.copy(blocks_of(message, bytes, from, 1), blocks_of(collected.bytes(), bytes, from * to.size() + number, 1));
        if (stays) continue;
        if (in_turn)
            transfers.push_back(op.send(to[number], message, 0));
        else
            messages_to.push_back({to[number], message});
    }
    for (const auto& [from, message] : landed) transfers.push_back(op.receive(from, message, 0));
    if (!in_turn) co_await exchange_as_nodes_arrive(op, messages_to, messages_from);
    co_await op.all_of(transfers);
    if (!levels.is_in_rank_order()) co_await copy_runs(op, bytes, order.ranks, incoming, data, Copy::out_of_list);
}

}  // namespace

Task alltoall_on_two_levels(Operation& op, ServeNodes order) {
    const Levels levels(op);
    const auto most = static_cast<std::uint64_t>(levels.most());
    if (levels.nodes() == 1)
        co_await alltoall_shared_memory(op);
    else if (op.call().own_sizes)
        co_await alltoall_two_level_own_sizes(op, levels);
    else if (op.call().bytes <= kOneLane / (most * most))
        co_await alltoall_in_one_lane(op, levels, order);
    else
        co_await alltoall_in_lanes(op, levels, order);
}

Task alltoall_two_level(Operation& op) { return alltoall_on_two_levels(op, ServeNodes::in_turn); }

}  // namespace rollcall::collectives
