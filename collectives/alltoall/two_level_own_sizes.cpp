// Alltoall of blocks of different sizes on two levels. The levels are those of R. Graham et al., "Cheetah: a framework for scalable
// hierarchical collective operations", CCGrid 2011.
//
// Idea: as with short blocks of one size (two_level.cpp), the first rank of each node collects what its node sends, and these ranks
// exchange one message for each pair of nodes. But a rank knows only the sizes of what it sends and receives. So the ranks of a node first
// publish these sizes, and a message with the sizes of its blocks goes before each message with blocks. The first rank of the other node
// compares them with what the ranks of its node count. In the end it writes for each rank what came for that rank. A message with sizes
// also says that all ranks of its node have arrived. So the nodes exchange blocks in the order in which these messages come (after Y. Qian
// and A. Afsahi, "Process arrival pattern aware alltoall and allgather on InfiniBand clusters", International Journal of Parallel
// Programming 2011), and no node waits for a late one before it has exchanged with those that have arrived.
//
// Example: nodes {0 1} {2 3}, a message with a block takes 5, a copy of a block takes 1, all ranks arrive at 0, the blocks have one size
// and are so long that the messages with sizes do not count. Each rank puts its blocks in order until 4. Ranks 1 and 3 write them until 8.
// Ranks 0 and 2 copy their own until 8, and the others until 12. They exchange four blocks until 32. They put those for ranks 1 and 3 in
// order until 36, write them until 40, and copy their own until 44. Ranks 1 and 3 copy theirs at the same time, and leave at 40.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "collectives/alltoall/two_level.hpp"
#include "collectives/published/published.hpp"
#include "runtime/engine/listed_receives.hpp"

namespace rollcall::collectives {
namespace {

using transport::Bytes;

/// The sizes that a node sends have the step kSizes plus its number.
constexpr std::uint64_t kCounts = 0, kCollect = 1, kHandOut = 2, kContents = 3, kSizes = 4;

/// The sizes of the blocks that a rank sends to each rank and, behind them, of those that it receives from each. On the first rank of a
/// node, the same of the other ranks of the node follows.
using Counts = std::vector<std::uint64_t>;

Bytes bytes_of(std::vector<std::uint64_t>& numbers) { return {numbers.data(), numbers.size() * sizeof(std::uint64_t)}; }

Counts own_counts(const Operation& op) {
    Counts counts;
    for (int rank = 0; rank < op.size(); ++rank) counts.push_back(block_for(op, rank).size);
    for (int rank = 0; rank < op.size(); ++rank) counts.push_back(block_of(op, rank).size);
    return counts;
}

/// Adds the counts of a rank where all sizes are known.
void add_counts(const Operation& op, int rank, const SizeOfBlock& size_of, Counts& counts) {
    for (int other = 0; other < op.size(); ++other) counts.push_back(size_of(rank, other));
    for (int other = 0; other < op.size(); ++other) counts.push_back(size_of(other, rank));
}

/// Publishes `counts`, which this rank has counted. The first rank of the node gets those of the others. (All read what a rank publishes
/// for everybody. For the first rank alone it publishes its blocks, and it can do that only once.)
Task tell_counts(Operation& op, const Levels& levels, Counts& counts) {
    const std::size_t ranks = levels.here().size();
    if (ranks == 1) co_return;
    const std::uint64_t size = bytes_of(counts).size;
    if (levels.place() == 0) counts.resize(counts.size() * ranks);
    const Bytes all = bytes_of(counts);
    const Among node(op, levels.here(), levels.place(), 0, op.arguments(), kCounts);
    co_await publish_and_read(op, runtime::slice(all, 0, size), runtime::slice(all, size, all.size - size));
}

/// The blocks that go from one node to another, and where they stand: a row for each rank of the one, and in it a block for each rank of
/// the other.
struct Traffic {
    std::vector<std::uint64_t> sizes;
    std::uint64_t begin = 0, size = 0;
};

/// The traffic to each node, one behind the other; or that from each node.
std::vector<Traffic> traffic_of(const Operation& op, const Levels& levels, const Counts& counts, bool is_outgoing) {
    std::vector<Traffic> all(static_cast<std::size_t>(levels.nodes()));
    const std::size_t ranks = levels.here().size(), each = counts.size() / ranks;
    std::uint64_t end = 0;
    for (int node = 0; node < levels.nodes(); ++node) {
        Traffic& traffic = all[static_cast<std::size_t>(node)];
        const auto add = [&](std::size_t place, int rank) {
            traffic.sizes.push_back(counts[each * place + static_cast<std::size_t>(is_outgoing ? rank : op.size() + rank)]);
        };
        if (is_outgoing) {
            for (std::size_t place = 0; place < ranks; ++place)
                for (const int rank : levels.on(node)) add(place, rank);
        } else {
            for (const int rank : levels.on(node))
                for (std::size_t place = 0; place < ranks; ++place) add(place, rank);
        }
        traffic.begin = end;
        traffic.size = std::accumulate(traffic.sizes.begin(), traffic.sizes.end(), std::uint64_t{0});
        end += traffic.size;
    }
    return all;
}
std::uint64_t size_of(const std::vector<Traffic>& all) { return all.back().begin + all.back().size; }

/// Puts what the ranks of this node send into `outgoing`. `own`: what this rank, the first of the node, sends.
Task collect(Operation& op, const Levels& levels, const std::vector<Traffic>& to, transport::ConstBytes own, Bytes outgoing) {
    std::vector<std::uint64_t> at;  // Where what the next rank sends begins in the traffic to each node.
    for (const Traffic& traffic : to) at.push_back(traffic.begin);
    std::vector<WantedFrom> all;
    for (std::size_t place = 0; place < levels.here().size(); ++place) {
        auto& [from, end, blocks] = all.emplace_back(WantedFrom{static_cast<int>(place), 0, {}});
        for (std::size_t node = 0; node < to.size(); ++node) {
            const std::size_t columns = levels.on(static_cast<int>(node)).size();
            const auto row = to[node].sizes.begin() + static_cast<std::ptrdiff_t>(columns * place);
            const auto size = std::accumulate(row, row + static_cast<std::ptrdiff_t>(columns), std::uint64_t{0});
            blocks.push_back({end, runtime::slice(outgoing, at[node], size)});
            at[node] += size;
            end += size;
        }
    }
    co_await copy_wanted(op, own, 0, all[0].wanted);
    if (all.size() == 1) co_return;
    const Among node(op, levels.here(), 0, 0, op.arguments(), kCollect);
    co_await copy_as_they_come(op, std::span(all).subspan(1));
}

/// Compares the sizes that came from a node with those that the ranks of this node count.
Task compare(Operation& op, const Levels& levels, int node, const std::vector<std::uint64_t>& sent, const Traffic& counted) {
    const std::size_t ranks = levels.here().size();
    for (std::size_t i = 0; i < sent.size(); ++i) {
        if (sent[i] == counted.sizes[i]) continue;
        op.tell_exchange_differs(levels.on(node)[i / ranks], levels.here()[i % ranks], counted.sizes[i], sent[i]);
        co_await op.failure();
    }
}

/// What the first rank of a node sends to those of the other nodes, and gets from them.
struct BetweenNodes {
    std::vector<Traffic> to, from;
    bool are_known;                                      ///< All nodes know the sizes of all blocks.
    std::vector<std::vector<std::uint64_t>> sizes = {};  ///< Of the blocks in `from`, as they come from there.
    std::vector<Pending> transfers = {};
};

/// Begins to exchange sizes. As early as possible, so that blocks find their receives posted.
void begin_to_tell_sizes(Operation& op, const Levels& levels, BetweenNodes& between, runtime::ListedReceives& told) {
    const int nodes = levels.nodes();
    between.sizes.resize(static_cast<std::size_t>(nodes));
    for (int i = 1; i < nodes; ++i) {
        const int source = (levels.node() - i + nodes) % nodes;
        const auto s = static_cast<std::size_t>(source);
        between.sizes[s].resize(between.from[s].sizes.size());
        told.receive(levels.on(source)[0], bytes_of(between.sizes[s]), kSizes + s);
    }
    for (int i = 1; i < nodes; ++i) {
        const int target = (levels.node() + i) % nodes;
        auto& sizes = between.to[static_cast<std::size_t>(target)].sizes;
        const auto own = static_cast<std::uint64_t>(levels.node());
        between.transfers.push_back(op.send(levels.on(target)[0], bytes_of(sizes), kSizes + own));
    }
}

Bytes slice_of(Bytes all, const Traffic& traffic) { return runtime::slice(all, traffic.begin, traffic.size); }

/// Exchanges blocks with the other nodes in the order in which their sizes come. Sends one message at a time, because two would share the
/// port. Receives are posted at once.
Task exchange_blocks(Operation& op, const Levels& levels, BetweenNodes& between, runtime::ListedReceives& told, Bytes outgoing,
                     Bytes incoming) {
    auto& [to, from, are_known, sizes, transfers] = between;
    const auto here = static_cast<std::size_t>(levels.node());
    const auto leader = [&](std::size_t node) { return levels.on(static_cast<int>(node))[0]; };
    std::vector<std::size_t> arrived, landed;  // What has landed is only to be copied, for which no other rank waits: last.
    const auto receive = [&, &from = from, &transfers = transfers](std::size_t node) {
        transfers.push_back(op.receive(leader(node), slice_of(incoming, from[node]), kContents));
    };
    const auto arrives = [&, &from = from](std::size_t node) {
        arrived.push_back(node);
        if (from[node].size == 0) return;
        if (op.has_landed(leader(node), kContents))
            landed.push_back(node);
        else
            receive(node);
    };
    if (are_known)
        for (std::size_t i = 1; i < to.size(); ++i) arrives((here + i) % to.size());
    else
        co_await compare(op, levels, levels.node(), to[here].sizes, from[here]);
    std::size_t served = 0;
    Pending sending;
    while (served + 1 < to.size()) {
        co_await op.until([&] { return told.any() || (served < arrived.size() && sending.done()); });
        if (told.any()) {
            const auto node = static_cast<std::size_t>(told.take() - kSizes);
            co_await compare(op, levels, static_cast<int>(node), sizes[node], from[node]);
            arrives(node);
        } else {
            const std::size_t node = arrived[served++];
            if (to[node].size > 0) sending = op.send(leader(node), slice_of(outgoing, to[node]), kContents);
        }
    }
    std::ranges::for_each(landed, receive);
    co_await op.copy(slice_of(incoming, from[here]), slice_of(outgoing, to[here]));
    co_await sending;
    co_await op.all_of(transfers);
}

/// Where the blocks begin that came from each rank, in node order.
std::vector<std::uint64_t> beginnings(const std::vector<Traffic>& from, std::size_t ranks) {
    std::vector<std::uint64_t> all;
    for (const Traffic& traffic : from) {
        std::uint64_t at = traffic.begin;
        for (std::size_t i = 0; i < traffic.sizes.size(); ++i) {
            if (i % ranks == 0) all.push_back(at);
            at += traffic.sizes[i];
        }
    }
    return all;
}

/// What came for the rank at `place` of this node, in node order. `at`: where that begins in what came from each rank. It becomes where
/// that for the next place begins.
std::vector<Bytes> blocks_for(const std::vector<Traffic>& from, std::size_t ranks, std::size_t place, Bytes incoming,
                              std::vector<std::uint64_t>& at) {
    std::vector<Bytes> blocks;
    for (const Traffic& traffic : from)
        for (std::size_t i = place; i < traffic.sizes.size(); i += ranks) {
            std::uint64_t& begin = at[blocks.size()];
            blocks.push_back(runtime::slice(incoming, begin, traffic.sizes[i]));
            begin += traffic.sizes[i];
        }
    return blocks;
}

/// The part of the first rank of a node. `own` has its blocks in node order.
Task lead(Operation& op, const Levels& levels, const Counts& counts, bool are_known, transport::ConstBytes own,
          std::span<const Bytes> places) {
    BetweenNodes between{.to = traffic_of(op, levels, counts, true), .from = traffic_of(op, levels, counts, false), .are_known = are_known};
    runtime::ListedReceives told(op);
    if (!are_known) begin_to_tell_sizes(op, levels, between, told);
    const std::vector<Traffic>&to = between.to, &from = between.from;
    const std::size_t ranks = levels.here().size();
    const Scratch outgoing(size_of(to), own), incoming(size_of(from), own);
    co_await collect(op, levels, to, own, outgoing.bytes());
    co_await exchange_blocks(op, levels, between, told, outgoing.bytes(), incoming.bytes());
    std::vector<std::uint64_t> at = beginnings(from, ranks);
    const std::vector<Bytes> own_blocks = blocks_for(from, ranks, 0, incoming.bytes(), at);
    std::vector<Pending> sends;
    std::vector<Scratch> sent;
    for (std::size_t place = 1; place < ranks; ++place) {
        const std::vector<Bytes> blocks = blocks_for(from, ranks, place, incoming.bytes(), at);
        std::uint64_t size = 0;
        for (const Bytes& block : blocks) size += block.size;
        Scratch packed(size, own);
        std::uint64_t end = 0;
        for (const Bytes& block : blocks) {
            co_await op.copy(runtime::slice(packed.bytes(), end, block.size), block);
            end += block.size;
        }
        const Among node(op, levels.here(), 0, 0, op.arguments(), kHandOut);
        const std::size_t before = sends.size();
        co_await publish_for_one(op, static_cast<int>(place), packed.bytes(), sends);
        if (sends.size() > before) sent.push_back(std::move(packed));
    }
    for (std::size_t i = 0; i < own_blocks.size(); ++i) co_await op.copy(places[i], own_blocks[i]);
    co_await op.all_of(sends);
}

/// `are_known`: all nodes know the sizes of all blocks.
Task exchange_counted(Operation& op, const Levels& levels, const Counts& counts, bool are_known) {
    const NodeOrder order(levels);
    const std::uint64_t sent = std::accumulate(counts.begin(), counts.begin() + op.size(), std::uint64_t{0});
    const Scratch packed(sent, op.arguments().contribution);
    std::vector<Bytes> places;
    std::uint64_t at = 0;
    for (const int rank : order.ranks) {
        const auto block = block_for(op, rank);
        co_await op.copy(runtime::slice(packed.bytes(), at, block.size), block);
        at += block.size;
        places.push_back(block_of(op, rank));
    }
    if (levels.place() == 0) {
        co_await lead(op, levels, counts, are_known, packed.bytes(), places);
        co_return;
    }
    std::vector<Wanted> wanted;
    std::uint64_t begin = 0;
    for (const Bytes& place : places) {
        wanted.push_back({begin, place});
        begin += place.size;
    }
    {
        const Among node(op, levels.here(), levels.place(), 0, op.arguments(), kCollect);
        co_await publish_all(op, 0, packed.bytes());
    }
    const Among node(op, levels.here(), levels.place(), 0, op.arguments(), kHandOut);
    co_await copy_all_wanted(op, 0, false, begin, wanted);
}

}  // namespace

Task alltoall_two_level_own_sizes(Operation& op, const Levels& levels) {
    Counts counts = own_counts(op);
    co_await tell_counts(op, levels, counts);
    co_await exchange_counted(op, levels, counts, false);
}

Task alltoall_two_level_known_sizes(Operation& op, const Levels& levels, const SizeOfBlock& size_of) {
    Counts counts;
    add_counts(op, op.rank(), size_of, counts);
    if (levels.place() == 0)
        for (const int rank : levels.here())
            if (rank != op.rank()) add_counts(op, rank, size_of, counts);
    co_await exchange_counted(op, levels, counts, true);
}

}  // namespace rollcall::collectives
