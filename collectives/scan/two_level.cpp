// Scan on two levels. It is our own; the levels are those of R. Graham et al., "Cheetah: a framework for scalable hierarchical collective
// operations", CCGrid 2011. Between nodes it is the recursive doubling of W. D. Hillis and G. L. Steele, "Data parallel algorithms",
// Communications of the ACM 1986.
//
// Idea: the ranks of a node but the first one do a scan through its memory, and the last rank combines the result with the elements of the
// first one. So it has those of its node. In step k, it sends what it has to the node 2^k after it: to the first rank, which so gets what
// all nodes before its own have, and to the last rank, if that one sends in a later step. The first rank combines the prefix with its own
// elements and publishes the result, which the other ranks of the node combine with theirs. So no rank waits for a rank after it, and the
// elements are combined in rank order. If the ranks of a node do not follow one another, the algorithm is that for ranks without nodes.
//
// Example: nodes {0 1} {2 3}, a message takes 5, a copy takes 1, and so does combining, all ranks arrive at 0. Rank 0 writes a until 1 and
// copies it until 2. Rank 1 copies b until 1 and a until 2, combines until 3, and sends ab to rank 2 until 8. Rank 2 combines until 9 and
// writes abc until 10. Rank 3 combines until 11.
#include <vector>

#include "collectives/combining/combining.hpp"
#include "collectives/published/published.hpp"
#include "collectives/relay.hpp"
#include "collectives/scan/scan.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {
namespace {

using transport::Bytes;
using transport::ConstBytes;

/// The first steps of what the first rank of a node publishes: its own elements for the last rank, and the prefix for all.
constexpr std::uint64_t kOwnSteps = 0, kPrefixSteps = 1;

/// The part of a node in the recursive doubling.
struct NodeSteps {
    const Levels& levels;

    int nodes() const { return levels.nodes(); }
    bool receives(int distance) const { return levels.node() >= distance; }
    bool sends(int distance) const { return levels.node() + distance < nodes(); }
    bool sends_later(int distance) const { return sends(2 * distance); }
    int last_before(int distance) const { return levels.on(levels.node() - distance).back(); }
    /// Sends what this node has to the node `distance` after it.
    void send(Operation& op, ConstBytes window, int distance, std::uint64_t step, std::vector<Pending>& sent) const {
        if (!sends(distance)) return;
        const std::vector<int>& to = levels.on(levels.node() + distance);
        sent.push_back(op.send(to.front(), window, step));
        if (to.size() > 1 && levels.node() + 3 * distance < nodes()) sent.push_back(op.send(to.back(), window, step));
    }
};

/// Combines what the first rank of the node publishes with `data`, whose elements come from higher ranks.
Task combine_prefix(Operation& op, Bytes data) {
    Reading in(op, 0, true, data.size);
    while (!in.complete()) {
        co_await op.until([&] { return in.is_here(); });
        const bool by_message = in.by_message();
        const Bytes piece = in.next_of(data);
        if (!by_message) co_await op.combine(piece, in.bytes(), piece);
        if (!in.let_go()) co_await op.failure();
        if (!by_message) continue;
        const Scratch received(data.size, data);
        co_await op.receive(0, received.bytes(), kPublishedStep);
        co_await op.combine(data, received.bytes(), data);
    }
}

Task publish_in_node(Operation& op, const Levels& levels, int to, ConstBytes data, std::uint64_t steps) {
    const runtime::Arguments arguments = op.arguments();
    const Among node(op, levels.here(), levels.place(), 0, arguments, steps);
    co_await publish_all(op, to, data);
}

Task copy_in_node(Operation& op, const Levels& levels, bool for_everybody, Bytes into, std::uint64_t steps) {
    const runtime::Arguments arguments = op.arguments();
    const Among node(op, levels.here(), levels.place(), 0, arguments, steps);
    co_await copy_all(op, 0, for_everybody, into);
}

/// The first rank of a node. If it is the only one, it also sends what the node has.
Task lead(Operation& op, const Levels& levels) {
    const auto own = op.arguments().contribution;
    const auto data = op.arguments().data;
    const bool exclusive = is_exclusive(op), is_alone = levels.here().size() == 1, has_prefix = levels.node() > 0;
    const NodeSteps steps{levels};
    if (has_prefix && !is_alone && steps.sends(1))
        co_await publish_in_node(op, levels, static_cast<int>(levels.here().size()) - 1, own, kOwnSteps);
    // What comes first may stand in the place of the result, unless this rank's elements are there.
    const bool is_aside = has_prefix && (!exclusive || is_in_place(op));
    const Scratch aside(is_aside ? own.size : 0, own), received(levels.node() > 1 ? own.size : 0, own);
    const Scratch memory(is_alone && has_prefix ? own.size : 0, own);
    const Bytes prefix = is_aside ? aside.bytes() : data;
    ConstBytes window = own;
    std::uint64_t step = 0;
    for (int distance = 1; distance < steps.nodes(); distance *= 2, ++step) {
        const Bytes come = distance == 1 ? prefix : received.bytes();
        const Pending incoming = steps.receives(distance) ? op.receive(steps.last_before(distance), come, step) : Pending();
        std::vector<Pending> sent;
        if (is_alone) steps.send(op, window, distance, step, sent);
        co_await incoming;
        co_await op.all_of(sent);
        if (!steps.receives(distance)) continue;
        if (is_alone && steps.sends_later(distance)) {
            co_await op.combine(memory.bytes(), come, window);
            window = memory.bytes();
        }
        if (distance > 1) co_await op.combine(prefix, come, prefix);
    }
    const Scratch through(exclusive && has_prefix && !is_alone ? own.size : 0, own);
    const Bytes sum = exclusive ? through.bytes() : data;
    if (has_prefix && !(exclusive && is_alone)) co_await op.combine(sum, prefix, own);
    if (!is_alone) co_await publish_in_node(op, levels, kEverybody, has_prefix ? ConstBytes(sum) : own, kPrefixSteps);
    if (!has_prefix && !exclusive) co_await copy_own(op, data, own);
    if (has_prefix && exclusive && is_aside) co_await op.copy(data, prefix);
}

/// A rank of a node that is not the first one.
Task follow(Operation& op, const Levels& levels) {
    const runtime::Arguments arguments = op.arguments();
    const auto own = arguments.contribution;
    const auto data = arguments.data;
    const int place = levels.place();
    const NodeSteps steps{levels};
    const bool exclusive = is_exclusive(op), sends = place + 1 == static_cast<int>(levels.here().size()) && steps.sends(1);
    // In an exclusive scan, the second rank of a node has nothing but the prefix.
    const bool has_some = !exclusive || place > 1, adds_own = sends && exclusive && has_some;
    const Scratch kept(adds_own && is_in_place(op) ? own.size : 0, own);
    if (kept.bytes().size > 0) co_await op.copy(kept.bytes(), own);
    {
        const std::vector<int> rest(levels.here().begin() + 1, levels.here().end());
        const Among others(op, rest, place - 1, 0, arguments);
        co_await scan_shared_memory(op);
    }
    const Scratch window(sends ? own.size : 0, own), of_first(sends ? own.size : 0, own);
    if (sends) {
        // In the first node, the elements of the first rank are the prefix.
        const bool is_prefix = levels.node() == 0;
        co_await copy_in_node(op, levels, is_prefix, of_first.bytes(), is_prefix ? kPrefixSteps : kOwnSteps);
        ConstBytes of_others = exclusive ? own : ConstBytes(data);
        if (adds_own) {
            co_await op.combine(window.bytes(), data, kept.bytes().size > 0 ? ConstBytes(kept.bytes()) : own);
            of_others = window.bytes();
        }
        co_await op.combine(window.bytes(), of_first.bytes(), of_others);
        std::vector<Pending> sent;
        const Scratch received(own.size, own);
        std::uint64_t step = 0;
        for (int distance = 1; distance < steps.nodes(); distance *= 2, ++step) {
            const bool receives = steps.receives(distance) && steps.sends_later(distance);
            const Pending incoming = receives ? op.receive(steps.last_before(distance), received.bytes(), step) : Pending();
            steps.send(op, window.bytes(), distance, step, sent);
            if (!receives) continue;
            co_await incoming;
            co_await op.all_of(sent);
            sent.clear();
            co_await op.combine(window.bytes(), received.bytes(), window.bytes());
        }
        if (is_prefix && has_some)
            co_await op.combine(data, of_first.bytes(), data);
        else if (is_prefix)
            co_await op.copy(data, of_first.bytes());
        co_await op.all_of(sent);
        if (is_prefix) co_return;
    }
    const Among node(op, levels.here(), place, 0, arguments, kPrefixSteps);
    if (has_some)
        co_await combine_prefix(op, data);
    else
        co_await copy_all(op, 0, true, data);
}

/// What `auto` takes for ranks of which no two are on one node.
Task scan_on_one_level(Operation& op) {
    const std::uint64_t bytes = op.arguments().data.size;
    std::vector<int> all;
    for (int rank = 0; rank < op.size(); ++rank) all.push_back(rank);
    runtime::Arguments arguments = op.arguments();
    arguments.segment_bytes = chain_between_nodes(op, bytes, op.size());
    const auto algorithm = between_nodes(op.call().kind, op, bytes, op.size());
    const Among every_rank(op, all, op.rank(), 0, arguments);
    co_await algorithm(op);
}

}  // namespace

Task scan_two_level(Operation& op) {
    const Levels levels(op);
    // No elements: the messages only show that all ranks make the same call.
    if (op.arguments().data.size == 0 || !levels.is_in_rank_order())
        co_await scan_on_one_level(op);
    else if (levels.place() == 0)
        co_await lead(op, levels);
    else
        co_await follow(op, levels);
}

}  // namespace rollcall::collectives
