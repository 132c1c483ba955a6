// Reduce and allreduce between two groups on several nodes. The ranks of a node take part together, as in J. L. Träff and S. Hunold,
// "Decomposing MPI collectives for exploiting multi-lane communication", IEEE Cluster 2020.
//
// Idea: a group reduces its elements to one of its nodes, as in a reduce on two levels: on each node as many ranks as there are lanes
// combine one share each, through its memory, and the lanes reduce them to that node. The ranks that have the shares there send them to the
// root, or, if the root is on that node, publish them for it. In an allreduce both groups do so at the same time. The ranks that have the
// same share of the two groups exchange them. Each lane then broadcasts its share to the other nodes of its group, where it is published.
// The lanes end where the root is, or on a node on which both groups have ranks, if there is one.
//
// Example: one lane, a message takes 5, a copy takes 1, and so does combining, all ranks arrive at 0. Reduce to a0, nodes {a0 b0} {b1 b2}:
// b2 writes until 1 and leaves. b0 copies its own elements until 1, and b1 combines until 2. b1->b0 until 7. b0 combines until 8 and
// writes until 9, and a0 copies until 10. Allreduce, nodes {a0 a1} {b0 b1}: a1 and b1 write until 1. a0 and b0 wait for them,
// combine until 2, exchange until 7, and write until 8. a1 and b1 copy until 9.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <vector>

#include "collectives/broadcast/broadcast.hpp"
#include "collectives/intergroup/intergroup.hpp"
#include "collectives/intergroup/rooted.hpp"
#include "collectives/published/published.hpp"
#include "collectives/relay.hpp"
#include "collectives/two_level/reduce_to_node.hpp"

namespace rollcall::collectives {
namespace {

/// The step of what goes from one group to the other.
constexpr std::uint64_t kToOtherGroup = 0;
/// The first step in which lanes broadcast. A reduce between nodes uses fewer steps.
constexpr std::uint64_t kBroadcastInLanes = std::uint64_t{1} << 40;

int node_in_communicator(const Operation& op, int rank) { return op.nodes() ? op.nodes()->of[static_cast<std::size_t>(rank)] : 0; }

/// The node of a group that is this node of the communicator, if the group has ranks there.
std::optional<int> node_of_group(const Operation& op, const Levels& levels, const Members& group, int node) {
    for (int its = 0; its < levels.nodes(); ++its)
        if (node_in_communicator(op, group.rank(levels.on(its)[0])) == node) return its;
    return std::nullopt;
}

/// The first node of the communicator on which both groups have ranks, as nodes of the two groups. Otherwise the first node of each.
std::array<int, 2> meeting_nodes(const Operation& op, const Levels& own, const Levels& other, const Sides& sides) {
    int first = op.nodes() ? static_cast<int>(op.nodes()->members.size()) : 1;
    constexpr int kNone = -1;
    std::vector<int> of_own(static_cast<std::size_t>(first), kNone);
    for (int its = 0; its < own.nodes(); ++its)
        of_own[static_cast<std::size_t>(node_in_communicator(op, sides.own.rank(own.on(its)[0])))] = its;
    std::array<int, 2> meeting{0, 0};
    for (int its = 0; its < other.nodes(); ++its) {
        const int node = node_in_communicator(op, sides.other.rank(other.on(its)[0]));
        const int of_ours = of_own[static_cast<std::size_t>(node)];
        if (of_ours == kNone || node >= first) continue;
        first = node;
        meeting = {of_ours, its};
    }
    return meeting;
}

/// This rank has a share that the root wants.
Task hand_share_over(Operation& op, int root, bool is_near, transport::ConstBytes share) {
    if (!is_near) {
        co_await op.send(root, share, kToOtherGroup);
        co_return;
    }
    const std::array pair{root, op.rank()};
    const Operation::Among both(op, pair, 1, 0, op.arguments(), kResultSteps);
    co_await publish_all(op, kEverybody, share);
}

/// The root's part. `from`: the ranks that have the shares.
Task take_shares(Operation& op, const std::vector<int>& from, bool is_near, const Lanes& lanes) {
    const transport::Bytes data = op.arguments().data;
    std::vector<Pending> coming;
    for (int lane = 0; lane < lanes.count(); ++lane) {
        const int rank = from[static_cast<std::size_t>(lane)];
        if (!is_near) {
            coming.push_back(op.receive(rank, lanes.part(data, lane), kToOtherGroup));
            continue;
        }
        const std::array pair{op.rank(), rank};
        const Operation::Among both(op, pair, 0, 0, op.arguments(), kResultSteps);
        co_await copy_all(op, 1, true, lanes.part(data, lane));
    }
    co_await op.all_of(coming);
}

/// Broadcasts the share of a lane from one of its ranks.
Task broadcast_in_lane(Operation& op, const Levels& levels, int from, int place, transport::Bytes share) {
    const std::vector<int> lane = levels.at_place(place);
    runtime::Arguments between = op.arguments();
    between.data = share;
    between.segment_bytes = share.size <= kWholeToNodes ? 0 : chain_between_nodes(op, share.size, levels.nodes());
    const Operation::Among nodes(op, lane, levels.node(), from, between, kBroadcastInLanes);
    if (between.segment_bytes == 0)
        co_await broadcast_binomial(op);
    else
        co_await broadcast_pipelined(op);
}

}  // namespace

Task intergroup_reduce_two_level(Operation& op) {
    const RootedPart part(op);
    if (!part.takes_part()) co_return;
    runtime::Arguments arguments = op.arguments();
    // The root counts shares of the elements that come.
    if (part.is_root) arguments.contribution = arguments.data;
    // No elements, no shares: the messages only show that all ranks make the same call.
    if (arguments.contribution.size == 0) {
        co_await intergroup_reduce_binomial(op);
        co_return;
    }
    const std::vector<int> all = with_root_last(part.others, op.root());
    const std::vector<int> of_group = ranks_of(part.others);
    const int root = part.others.size, own = part.is_root ? root : part.sides.member;
    const Levels levels(op, of_group, part.is_root ? -1 : own);
    const auto near = node_of_group(op, levels, part.others, node_in_communicator(op, op.root()));
    const int to = near.value_or(0);
    const std::vector<int>& ends = levels.on(to);
    const Operation::Among group(op, all, own, root, arguments);
    const Lanes lanes(op, arguments.contribution.size <= kOneLane ? 1 : levels.fewest());
    if (part.is_root) {
        co_await take_shares(op, ends, near.has_value(), lanes);
        co_return;
    }
    const int place = levels.place();
    const Scratch share(lanes.part(arguments.contribution, place).size, arguments.contribution);
    {
        std::vector<int> others(of_group.size());
        std::iota(others.begin(), others.end(), 0);
        const Operation::Among without_root(op, others, own, 0, arguments);
        const LaneEnds lane_ends{to, ends, place, share.bytes()};
        co_await reduce_to_node(op, levels, lanes, lane_ends);
    }
    if (levels.node() == to && place < lanes.count()) co_await hand_share_over(op, root, near.has_value(), share.bytes());
}

Task intergroup_allreduce_two_level(Operation& op) {
    const runtime::Arguments arguments = op.arguments();
    if (arguments.contribution.size == 0) {
        co_await intergroup_allreduce_reduce_then_broadcast(op);
        co_return;
    }
    const Sides sides = sides_of(op);
    const std::vector<int> of_own = ranks_of(sides.own), of_other = ranks_of(sides.other);
    const Levels levels(op, of_own, sides.member), other_levels(op, of_other, -1);
    const auto [to, other_to] = meeting_nodes(op, levels, other_levels, sides);
    const int most = std::max(levels.most(), other_levels.most()), fewest = std::min(levels.fewest(), other_levels.fewest());
    const Lanes lanes(op, static_cast<int>(lanes_of_all(static_cast<double>(arguments.contribution.size), most, fewest)));
    const int place = levels.place();
    const bool has_lane = place < lanes.count();
    const auto result = lanes.part(arguments.data, place);
    const Scratch share(lanes.part(arguments.contribution, place).size, arguments.contribution);
    {
        const Operation::Among group(op, of_own, sides.member, 0, arguments);
        const LaneEnds ends{to, levels.on(to), place, share.bytes()};
        co_await reduce_to_node(op, levels, lanes, ends);
    }
    if (has_lane && levels.node() == to) {
        const int peer = sides.other.rank(other_levels.on(other_to)[static_cast<std::size_t>(place)]);
        const auto received = op.receive(peer, result, kToOtherGroup);
        co_await op.send(peer, share.bytes(), kToOtherGroup);
        co_await received;
    }
    const Operation::Among group(op, of_own, sides.member, 0, arguments);
    if (has_lane && levels.nodes() > 1) co_await broadcast_in_lane(op, levels, to, place, result);
    if (levels.here().size() > 1) co_await share_with_node(op, levels, lanes, arguments);
}

}  // namespace rollcall::collectives
