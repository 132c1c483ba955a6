// Allgather on two levels. It is our own; the levels are those of R. Graham et al., "Cheetah: a framework for scalable hierarchical
// collective operations", CCGrid 2011.
//
// Idea: the lowest rank of each node collects the blocks of its node through its memory. What the nodes have goes round a ring of these
// ranks. Then each publishes all blocks on its node. Between two nodes there are as many messages as there are nodes, whatever the number
// of ranks.
//
// Example: nodes {0 1} {2 3}, blocks a b c d, a message with a block takes 5, a copy of a block takes 1, all ranks arrive at 0. Ranks 1 and
// 3 write until 1. Ranks 0 and 2 copy their own block until 1, and the other one until 2. They exchange ab and cd until 12, and write abcd
// until 16. Ranks 1 and 3 copy until 20.
#include <optional>
#include <span>
#include <vector>

#include "collectives/allgather/allgather.hpp"
#include "collectives/blocks/blocks.hpp"
#include "collectives/blocks/members.hpp"
#include "collectives/published/published.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {
namespace {

/// The first step of what is published for all.
constexpr std::uint64_t kResults = 1;

/// Memory in which the blocks stand node by node. It is the caller's, if that order is the order of ranks.
class NodeByNode {
  public:
    NodeByNode(const Operation& op, const Levels& levels) {
        for (int node = 0; node < levels.nodes(); ++node) {
            std::uint64_t size = 0;
            for (const int rank : levels.on(node)) {
                blocks_.push_back({block_of(op, rank), size + parts.total()});
                size += blocks_.back().where.size;
            }
            parts.add(size);
        }
        bool is_in_place = levels.is_in_rank_order();
        const transport::Bytes data = op.arguments().data;
        for (const Block& block : blocks_)
            is_in_place = is_in_place && (!data.data || block.where.data == runtime::slice(data, block.at, 0).data);
        if (is_in_place) {
            all = runtime::slice(data, 0, parts.total());
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

}  // namespace

Task allgather_two_level(Operation& op) {
    const Levels levels(op);
    const runtime::Arguments arguments = op.arguments();
    const std::vector<int>& here = levels.here();
    const int place = levels.place(), ranks = static_cast<int>(here.size());
    const NodeByNode blocks(op, levels);
    std::vector<std::uint64_t> sizes;
    for (const int rank : here) sizes.push_back(block_of(op, rank).size);
    if (place > 0) {
        const Among node(op, here, place, 0, arguments);
        co_await publish_all(op, 0, arguments.contribution);
    } else {
        transport::Bytes rest = runtime::slice(blocks.all, blocks.parts[levels.node()].begin, blocks.parts[levels.node()].size());
        for (int other = 0; other < ranks; ++other) {
            const std::uint64_t size = sizes[static_cast<std::size_t>(other)];
            const Among node(op, here, 0, 0, arguments);
            if (other == 0)
                co_await copy_own(op, runtime::slice(rest, 0, size), arguments.contribution);
            else
                co_await copy_all(op, other, false, runtime::slice(rest, 0, size));
            rest = runtime::slice(rest, size, rest.size - size);
        }
        const std::vector<int> leaders = levels.at_place(0);
        const Among nodes(op, leaders, levels.node(), 0, arguments);
        co_await gather_all_in_ring(op, Members{.size = levels.nodes()}, levels.node(), blocks.parts, blocks.all, 0);
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
}

}  // namespace rollcall::collectives
