// Reduce_scatter on two levels. The ranks of a node take part together, as in J. L. Träff and S. Hunold, "Decomposing MPI collectives for
// exploiting multi-lane communication", IEEE Cluster 2020.
//
// Idea: the first ranks of each node have a lane each, as many as the smallest node has ranks, or fewer if the elements are few. The
// blocks of the ranks of a node are dealt out to the lanes in turn. A rank that has a lane combines the blocks of its lane, for all nodes,
// through the memory of its node. Then the ranks of a lane do a reduce_scatter among each other, in which each gets the blocks of its node.
// One of these is its own. If there are others, it publishes them for their ranks. No link carries more than one rank's elements. The
// elements are not combined in rank order.
//
// Example: nodes {0 1} {2 3}, one lane, a message with a block takes 5, a copy of a block takes 1, and so does combining, all ranks arrive
// at 0. Ranks 1 and 3 write four blocks until 4. Ranks 0 and 2 wait for them, combine until 8, exchange two blocks
// until 18, combine until 20, write the block of the other rank until 21, and copy their own until 22. Ranks 1 and 3 copy until 22.
// In lanes: each rank puts its blocks in order until 4, writes two for the other rank until 6, and combines until 8. It exchanges one block
// until 13, and combines until 14.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "collectives/published/published.hpp"
#include "collectives/published/published_parts.hpp"
#include "collectives/reduce_scatter/reduce_scatter.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {
namespace {

using transport::Bytes;
using transport::ConstBytes;

/// The blocks in the order of lanes, and within a lane in the order of nodes.
class LaneOrder {
  public:
    LaneOrder(const Operation& op, const Levels& levels, int lanes) : bytes_(op.call().bytes), lanes_(lanes) {
        for (int lane = 0; lane < lanes; ++lane) {
            const std::size_t before = ranks.size();
            for (int node = 0; node < levels.nodes(); ++node) {
                const std::vector<int>& on = levels.on(node);
                for (auto place = static_cast<std::size_t>(lane); place < on.size(); place += static_cast<std::size_t>(lanes))
                    ranks.push_back(on[place]);
            }
            parts_.add(bytes_ * (ranks.size() - before));
        }
    }

    bool is_rank_order() const { return std::is_sorted(ranks.begin(), ranks.end()); }
    bool has_lane(int place) const { return place < lanes_; }
    /// The place of the rank that has this rank's block.
    int lane_of(int place) const { return place % lanes_; }
    int lanes() const { return lanes_; }
    /// The part of the lane of the rank at this place. Empty: it has none.
    ConstBytes part(ConstBytes all, int place) const {
        return has_lane(place) ? parts_of(all, parts_, place, place) : runtime::slice(all, 0, 0);
    }
    /// Where the blocks of each node stand in a part.
    std::vector<runtime::Block> by_node(const Levels& levels, int lane) const {
        std::vector<runtime::Block> nodes;
        std::uint64_t at = 0;
        for (int node = 0; node < levels.nodes(); ++node) {
            const auto ranks_of_node = static_cast<int>(levels.on(node).size());
            const auto count = static_cast<std::uint64_t>((ranks_of_node - lane + lanes_ - 1) / lanes_);
            nodes.push_back({at, count * bytes_});
            at += count * bytes_;
        }
        return nodes;
    }

    std::vector<int> ranks;

  private:
    std::uint64_t bytes_;
    int lanes_;
    Parts parts_;
};

/// A reduce_scatter among the ranks of this rank's lane: `sum` has the blocks of the lane for all nodes, `own` is for those of this node.
Task exchange_lane(Operation& op, const Levels& levels, const LaneOrder& order, ConstBytes sum, Bytes own) {
    const std::vector<int> lane = levels.at_place(levels.place());
    const std::vector<runtime::Block> blocks = order.by_node(levels, levels.place());
    std::uint64_t longest = 0;
    for (const runtime::Block& block : blocks) longest = std::max(longest, block.size);
    runtime::Arguments share = op.arguments();
    share.contribution = sum;
    share.contribution_blocks = blocks.data();
    share.data = own;
    // All ranks of a lane must choose alike, so the size of this node's blocks does not count.
    const auto algorithm = between_nodes(OperationKind::reduce_scatter, op, longest, levels.nodes());
    const Among nodes(op, lane, levels.node(), 0, share);
    co_await algorithm(op);
}

}  // namespace

Task reduce_scatter_two_level(Operation& op) {
    const runtime::Arguments arguments = op.arguments();
    const Levels levels(op);
    // No elements: the messages only show that all ranks make the same call.
    if (arguments.contribution.size == 0) {
        co_await reduce_scatter_recursive_halving(op);
        co_return;
    }
    if (levels.nodes() == 1) {
        co_await reduce_scatter_shared_memory(op);
        co_return;
    }
    const std::vector<int>& here = levels.here();
    const int place = levels.place(), ranks = static_cast<int>(here.size());
    const LaneOrder order(op, levels, lanes_of_all(arguments.contribution.size, levels));
    const Scratch ordered(order.is_rank_order() ? 0 : arguments.contribution.size, arguments.contribution);
    const ConstBytes brought = order.is_rank_order() ? arguments.contribution : ConstBytes(ordered.bytes());
    if (!order.is_rank_order()) co_await copy_into_list(op, op.call().bytes, order.ranks, ordered.bytes(), arguments.contribution);

    const Scratch sum(ranks > 1 ? order.part(brought, place).size : 0, brought);
    if (ranks > 1) {
        const Among node(op, here, place, 0, arguments);
        PublishedParts parts{
            .brought = [&](int other) { return order.part(brought, other); }, .own = sum.bytes(), .in_place = InPlace::anywhere};
        co_await combine_published_parts(op, std::move(parts));
    }
    if (!order.has_lane(place)) {
        const Among node(op, here, place, 0, arguments, kResultSteps);
        co_await copy_all(op, order.lane_of(place), false, arguments.data);
        co_return;
    }
    const bool has_blocks_of_others = place + order.lanes() < ranks;
    const std::uint64_t of_node = order.by_node(levels, place)[static_cast<std::size_t>(levels.node())].size;
    const Scratch blocks(has_blocks_of_others ? of_node : 0, brought);
    co_await exchange_lane(op, levels, order, ranks > 1 ? ConstBytes(sum.bytes()) : brought,
                           has_blocks_of_others ? blocks.bytes() : arguments.data);
    if (!has_blocks_of_others) co_return;
    const std::uint64_t bytes = op.call().bytes;
    std::vector<Pending> sends;
    for (int other = place + order.lanes(), number = 1; other < ranks; other += order.lanes(), ++number) {
        const Among node(op, here, place, 0, arguments, kResultSteps);
        co_await publish_for_one(op, other, runtime::slice(blocks.bytes(), static_cast<std::uint64_t>(number) * bytes, bytes), sends);
    }
    co_await op.copy(arguments.data, runtime::slice(blocks.bytes(), 0, bytes));
    co_await op.all_of(sends);
}

}  // namespace rollcall::collectives
