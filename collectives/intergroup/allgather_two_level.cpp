// Intergroup allgather on two levels. It is our own; the levels are those of R. Graham et al., "Cheetah: a framework for scalable
// hierarchical collective operations", CCGrid 2011. Between the nodes it is the full-duplex exchange of Q. Kang, J. L. Träff et al.,
// "Scalable algorithms for MPI intergroup allgather and allgatherv", Parallel Computing 2019, algorithm 2.
//
// Idea: on each node, the lowest rank of each group collects the blocks of its group through the memory of the node. These ranks exchange
// what they have as in the full-duplex allgather, in which each is a rank with one long block. Then each publishes the data of the other
// group on its node. So the rings have as many steps as a group has nodes, and the data of a group enters a node once. If the data of
// neither group is long, each of these ranks sends what it has to all of those of the other group, and there are no rings. A node on which
// both groups have ranks has a rank of each that does this.
//
// Example: nodes {a0 a1} {b0 b1}, a message with a block takes 5, a copy of a block takes 1, all ranks arrive at 0. a1 and b1 write until
// 1. a0 and b0 copy their own block until 1, and the other one until 2. They exchange two blocks until 12, and write those of the other
// group until 14. a1 and b1 copy them until 16.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "collectives/intergroup/full_duplex.hpp"
#include "collectives/intergroup/intergroup.hpp"
#include "collectives/intergroup/sides.hpp"
#include "collectives/published/published.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {
namespace {

using transport::Bytes;

constexpr std::uint64_t kCollectOnNodes = kStepsForSizes, kResultsOnNodes = kCollectOnNodes + 1, kBetween = kResultsOnNodes + 1;

/// A group, node by node. Nodes on which it has no ranks are left out.
struct GroupOnNodes {
    GroupOnNodes(const Levels& levels, const Members& group, const Parts& blocks) {
        for (int node = 0; node < levels.nodes(); ++node) {
            std::vector<int> ranks;
            std::uint64_t size = 0;
            for (const int rank : levels.on(node)) {
                const int member = rank - group.first;
                if (member < 0 || member >= group.size) continue;
                ranks.push_back(rank);
                order.push_back(member);
                size += blocks[member].size();
            }
            if (ranks.empty()) continue;
            nodes.push_back(std::move(ranks));
            parts.add(size);
        }
    }
    int count() const { return static_cast<int>(nodes.size()); }

    std::vector<std::vector<int>> nodes;  ///< The ranks on each node.
    std::vector<int> order;               ///< The members of the group, node by node.
    Parts parts;                          ///< The data of the group, cut into that of each node.
};

/// Where the blocks of the other group are to go, in the order in which they come.
struct PlacesOnNodes {
    PlacesOnNodes(const Operation& op, const GroupOnNodes& others, const Parts& blocks) {
        const runtime::Arguments& arguments = op.arguments();
        const auto place_of = [&](int member) {
            const Range range = blocks[member];
            return runtime::Block{arguments.blocks ? arguments.blocks[member].offset : range.begin, range.size()};
        };
        std::uint64_t total = 0;
        for (const int member : others.order) {
            const runtime::Block block = place_of(member);
            wanted.push_back({total, runtime::slice(arguments.data, block.offset, block.size)});
            total += block.size;
        }
        const auto place_at = [&](int at) { return place_of(others.order[static_cast<std::size_t>(at)]); };
        if (const auto begin = begin_if_contiguous(static_cast<int>(others.order.size()), place_at))
            in_one_piece = runtime::slice(arguments.data, *begin, total);
    }
    std::vector<Wanted> wanted;
    std::optional<Bytes> in_one_piece;  ///< All of them, if they stand one behind the other in this order.
};

/// Each node sends what it has to all nodes of the other group.
Task exchange_straight(Operation& op, const Sides& nodes, const BothBlocks& blocks, Bytes all) {
    const bool sends = !blocks.own[nodes.member].empty();
    std::vector<Pending> transfers;
    for (int i = 0; i < nodes.other.size; ++i) {
        const int member = (nodes.member + i) % nodes.other.size;
        const Range from = blocks.other[member];
        if (!from.empty()) transfers.push_back(op.receive(nodes.other.rank(member), runtime::slice(all, from.begin, from.size()), 0));
        if (sends) transfers.push_back(op.send(nodes.other.rank(member), op.arguments().contribution, 0));
    }
    co_await op.all_of(transfers);
}

/// The part of the lowest rank of a group on a node: gets the blocks of the other group in `all`, node by node.
Task exchange_between_nodes(Operation& op, const GroupOnNodes& own, const GroupOnNodes& others, int node, const Parts& blocks, Bytes all) {
    const runtime::Arguments arguments = op.arguments();
    const std::vector<int>& here = own.nodes[static_cast<std::size_t>(node)];
    const Sides sides = sides_of(op);
    const Scratch scratch(here.size() > 1 ? own.parts[node].size() : 0, arguments.contribution);
    transport::ConstBytes collected = arguments.contribution;
    if (here.size() > 1) {
        collected = scratch.bytes();
        std::uint64_t begin = 0;
        std::vector<WantedFrom> wanted;
        for (std::size_t place = 0; place < here.size(); ++place) {
            const std::uint64_t size = blocks[here[place] - sides.own.first].size();
            wanted.push_back({static_cast<int>(place), size, {{0, runtime::slice(scratch.bytes(), begin, size)}}});
            begin += size;
        }
        co_await copy_wanted(op, arguments.contribution, 0, wanted[0].wanted);
        const Among group(op, here, 0, 0, arguments, kCollectOnNodes);
        co_await copy_as_they_come(op, std::span(wanted).subspan(1));
    }
    std::vector<int> ranks;
    for (const GroupOnNodes* const group : {&own, &others})
        for (const std::vector<int>& members : group->nodes) ranks.push_back(members[0]);
    const Sides nodes{.own = {.first = 0, .size = own.count()}, .other = {.first = own.count(), .size = others.count()}, .member = node};
    runtime::Arguments between = arguments;
    between.contribution = collected;
    const Among leaders(op, ranks, node, 0, between, kBetween);
    const BothBlocks parts{own.parts, others.parts};
    if (std::max(own.parts.total(), others.parts.total()) <= kOneLane)
        co_await exchange_straight(op, nodes, parts, all);
    else
        co_await exchange_full_duplex(op, nodes, parts, all, 0);
}

}  // namespace

Task gather_all_two_level(Operation& op, const Sides& sides, const BothBlocks& blocks) {
    const Levels levels(op);
    const GroupOnNodes own(levels, sides.own, blocks.own), others(levels, sides.other, blocks.other);
    const auto is_here = [&](const std::vector<int>& ranks) { return levels.node_of(ranks[0]) == levels.node(); };
    const int node = static_cast<int>(std::find_if(own.nodes.begin(), own.nodes.end(), is_here) - own.nodes.begin());
    const std::vector<int>& here = own.nodes[static_cast<std::size_t>(node)];
    const int place = static_cast<int>(std::lower_bound(here.begin(), here.end(), op.rank()) - here.begin());
    const PlacesOnNodes places(op, others, blocks.other);
    const runtime::Arguments arguments = op.arguments();

    if (place > 0) {
        {
            const Among group(op, here, place, 0, arguments, kCollectOnNodes);
            co_await publish_all(op, 0, arguments.contribution);
        }
        const Among group(op, here, place, 0, arguments, kResultsOnNodes);
        co_await copy_all_wanted(op, 0, true, others.parts.total(), places.wanted);
        co_return;
    }
    const Scratch beside(places.in_one_piece ? 0 : others.parts.total(), arguments.data);
    const Bytes all = places.in_one_piece.value_or(beside.bytes());
    co_await exchange_between_nodes(op, own, others, node, blocks.own, all);
    if (here.size() > 1) {
        const Among group(op, here, 0, 0, arguments, kResultsOnNodes);
        co_await publish_all(op, kEverybody, all);
    }
    if (!places.in_one_piece) co_await copy_wanted(op, all, 0, places.wanted);
}

Task intergroup_allgather_two_level(Operation& op) {
    const Sides sides = sides_of(op);
    BothBlocks blocks;
    co_await find_blocks(op, sides, blocks);
    co_await gather_all_two_level(op, sides, blocks);
}

}  // namespace rollcall::collectives
