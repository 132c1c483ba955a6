// Allgather on two levels. It is our own; the levels are those of R. Graham et al., "Cheetah: a framework for scalable hierarchical
// collective operations", CCGrid 2011.
//
// Idea: the lowest rank of each node collects the blocks of its node through its memory. What the nodes have goes round a ring of these
// ranks. Then each publishes all blocks on its node. Between two nodes there are as many messages as there are nodes, whatever the number
// of ranks.
//
// A rank of the ring passes on what comes from other nodes at once, while it waits for its own caller or for late ranks of its node. So a
// late rank keeps back what its own node has, and nothing else.
//
// Example: nodes {0 1} {2 3}, blocks a b c d, a message with a block takes 5, a copy of a block takes 1, all ranks arrive at 0. Ranks 1 and
// 3 write until 1. Ranks 0 and 2 copy their own block until 1, and the other one until 2. They exchange ab and cd until 12, and write abcd
// until 16. Ranks 1 and 3 copy until 20.
#include <optional>
#include <span>
#include <vector>

#include "collectives/allgather/allgather.hpp"
#include "collectives/allgather/dissemination.hpp"
#include "collectives/blocks/blocks.hpp"
#include "collectives/published/published.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {
namespace {

/// The first step of what is published for all.
constexpr std::uint64_t kResults = 1;

/// Memory in which the blocks stand node by node. It is the caller's, if they stand there in this order, one behind the other.
class NodeByNode {
  public:
    NodeByNode(const Operation& op, const Levels& levels) {
        std::vector<int> order;
        for (int node = 0; node < levels.nodes(); ++node) {
            std::uint64_t size = 0;
            for (const int rank : levels.on(node)) {
                blocks_.push_back({block_of(op, rank), size + parts.total()});
                size += blocks_.back().where.size;
                order.push_back(rank);
            }
            parts.add(size);
        }
        const transport::Bytes data = op.arguments().data;
        const auto place_of = [&](int at) { return place_of_block(op, order[static_cast<std::size_t>(at)]); };
        if (const auto begin = begin_if_contiguous(op.size(), place_of)) {
            all = runtime::slice(data, *begin, parts.total());
        } else {
            scratch_.emplace(parts.total(), data);
            all = scratch_->bytes();
        }
    }

    struct Block {
        transport::Bytes where;  ///< Where the caller wants it.
        std::uint64_t at;        ///< Where it stands in `all`.
    };
    /// The blocks that stand in `all` only.
    std::span<const Block> to_move() const { return scratch_ ? std::span<const Block>(blocks_) : std::span<const Block>(); }

    Parts parts;  ///< By node.
    transport::Bytes all;

  private:
    std::vector<Block> blocks_;
    std::optional<Scratch> scratch_;
};

/// Copies what each rank of this node has into `all`, in which it stands in the order of `here`. It is copied as it comes. Meanwhile blocks
/// of other nodes go on round the ring.
Task collect(Operation& op, const std::vector<int>& here, const std::vector<std::uint64_t>& sizes, transport::Bytes all,
             Dissemination& ring) {
    const runtime::Arguments arguments = op.arguments();
    const Among node(op, here, 0, 0, arguments);
    std::uint64_t at = sizes[0];
    co_await copy_own(op, runtime::slice(all, 0, at), arguments.contribution);
    Uses<Incoming> incoming(op.size() - 1);
    for (int other = 1; other < op.size(); ++other) {
        const std::uint64_t size = sizes[static_cast<std::size_t>(other)];
        incoming.add(op, other, false, runtime::slice(all, at, size));
        at += size;
    }
    Incoming* come = nullptr;
    for (int missing = incoming.size(); missing > 0;) {
        co_await op.until([&] { return (come = find_ready(incoming)) || ring.can_go_on(); });
        if (!come) {
            co_await go_on(op, ring);
            continue;
        }
        co_await copy_what_is_here(op, come->reading, come->place);
        if (come->reading.complete()) --missing;
    }
}

}  // namespace

Task allgather_two_level(Operation& op) {
    const Levels levels(op);
    const std::vector<int>& here = levels.here();
    const int place = levels.place(), ranks = static_cast<int>(here.size()), nodes = levels.nodes(), own = levels.node();
    const std::vector<int> leaders = levels.at_place(0);
    const auto leader_of = [&](int node) { return leaders[static_cast<std::size_t>((node + nodes) % nodes)]; };
    Dissemination ring(op, leader_of(own + 1), leader_of(own - 1), own, nodes);
    co_await pass_on_until_buffers(op, ring);
    const runtime::Arguments arguments = op.arguments();
    const NodeByNode blocks(op, levels);
    const auto of_node = [&](int node) { return runtime::slice(blocks.all, blocks.parts[node].begin, blocks.parts[node].size()); };
    if (place > 0) {
        co_await op.arrival();
        const Among node(op, here, place, 0, arguments);
        co_await publish_all(op, 0, arguments.contribution);
    } else {
        std::vector<std::uint64_t> sizes;
        for (const int rank : here) sizes.push_back(block_of(op, rank).size);
        ring.receive(of_node);
        co_await go_on_until_arrival(op, ring);
        co_await collect(op, here, sizes, of_node(own), ring);
        ring.send_own(of_node(own));
        co_await go_on_until_complete(op, ring);
    }
    if (ranks > 1) {
        const Among node(op, here, place, 0, arguments, kResults);
        if (place == 0)
            co_await publish_all(op, kEverybody, blocks.all);
        else
            co_await copy_all(op, 0, true, blocks.all);
    }
    for (const NodeByNode::Block& block : blocks.to_move())
        co_await op.copy(block.where, runtime::slice(blocks.all, block.at, block.where.size));
    co_await all_sent(op, ring);
}

}  // namespace rollcall::collectives
