// Operations between two groups through node memory, where all ranks of both groups are on one node. They are our own, after the
// non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process arrival patterns", section 3.1.
//
// Idea: they are the operations of one group that consists of a root and the ranks of the other group, or of any rank and the ranks of the
// other group. A rank publishes for the ranks of the other group, and copies what these publish. So a rank waits for no rank of its own
// group, and a late rank delays only its own block.
//
// Example: p = 2, q = 1, a copy of a block takes 1, all ranks arrive at 0. Allgather: all ranks write their blocks until 1. a0 and a1 copy
// that of b0 until 2, and b0 copies theirs until 3. Alltoall: a0 and a1 write a block until 1, b0 writes two until 2. b0 has copied two at
// 4. a0 copies its block from 1 to 2, and a1 from 2 to 3. Broadcast by a1: it writes the message until 1, and b0 copies it until 2.
#include <vector>

#include "collectives/broadcast/broadcast.hpp"
#include "collectives/gather/gather.hpp"
#include "collectives/intergroup/intergroup.hpp"
#include "collectives/intergroup/rooted.hpp"
#include "collectives/published/published.hpp"
#include "collectives/scatter/scatter.hpp"
#include "runtime/engine/among.hpp"

namespace rollcall::collectives {
namespace {

using Among = Operation::Among;

/// The places of the blocks of `group`: those that are given, or blocks of `bytes` bytes. The rank before the group has none.
std::vector<runtime::Block> blocks_behind(const Members& group, const runtime::Block* given, std::uint64_t bytes) {
    std::vector<runtime::Block> blocks{{0, 0}};
    for (int member = 0; member < group.size; ++member)
        blocks.push_back(given ? given[member] : runtime::Block{bytes * static_cast<std::uint64_t>(member), bytes});
    return blocks;
}

/// `moves`: how short blocks move. Null: `algorithm` has no blocks.
Task rooted(Operation& op, runtime::Algorithm algorithm, const ShortMoves* moves) {
    const RootedPart part(op);
    if (!part.takes_part()) co_return;
    const std::vector<int> ranks = with_group(op.root(), part.others);
    runtime::Arguments arguments = op.arguments();
    const std::uint64_t size = op.call().bytes;
    std::vector<runtime::Block> blocks;
    if (moves) {
        blocks = blocks_behind(part.others, arguments.blocks, size);
        arguments.blocks = blocks.data();
    }
    const Among node(op, ranks, part.is_root ? 0 : part.sides.member + 1, 0, arguments);
    if (moves && !op.call().own_sizes && ShortExchange::suits(op.size(), size))
        co_await exchange_short(op, *moves, size);
    else
        co_await algorithm(op);
}

// No rank has a block for itself.
constexpr ShortMoves kMovesFromRoot{ShortExchange::Flow::from_root, false, false, &scattered_to, &place_of_result};
constexpr ShortMoves kMovesToRoot{ShortExchange::Flow::to_root, false, false, &same_for_all};
constexpr ShortMoves kMovesForAll{ShortExchange::Flow::among_all, true, false, &same_for_all};
constexpr ShortMoves kMovesForEach{ShortExchange::Flow::among_all, false, false, &block_for};

/// Whether the blocks of both groups have one size that suits a ShortExchange.
bool are_short(const Operation& op) {
    const runtime::Call& call = op.call();
    return !call.own_sizes && call.bytes == call.segment_bytes && ShortExchange::suits(op.size(), call.bytes);
}

}  // namespace

Task intergroup_broadcast_shared_memory(Operation& op) { return rooted(op, &broadcast_shared_memory, nullptr); }
Task intergroup_scatter_shared_memory(Operation& op) { return rooted(op, &scatter_shared_memory, &kMovesFromRoot); }
Task intergroup_gather_shared_memory(Operation& op) { return rooted(op, &gather_shared_memory, &kMovesToRoot); }

Task intergroup_allgather_shared_memory(Operation& op) {
    const Sides sides = sides_of(op);
    const std::vector<int> ranks = with_group(op.rank(), sides.other);
    runtime::Arguments arguments = op.arguments();
    const std::vector<runtime::Block> blocks =
        blocks_behind(sides.other, arguments.blocks, arguments.data.size / static_cast<std::uint64_t>(sides.other.size));
    arguments.blocks = blocks.data();
    const Among node(op, ranks, 0, 0, arguments);
    if (are_short(op))
        co_await exchange_short(op, kMovesForAll, op.call().bytes);
    else
        co_await publish_and_copy(op, true, &same_for_all);
}

Task intergroup_alltoall_shared_memory(Operation& op) {
    const Sides sides = sides_of(op);
    const auto others = static_cast<std::uint64_t>(sides.other.size);
    const std::vector<int> ranks = with_group(op.rank(), sides.other);
    runtime::Arguments arguments = op.arguments();
    const std::vector<runtime::Block> to = blocks_behind(sides.other, arguments.contribution_blocks, arguments.contribution.size / others);
    const std::vector<runtime::Block> from = blocks_behind(sides.other, arguments.blocks, arguments.data.size / others);
    arguments.contribution_blocks = to.data();
    arguments.blocks = from.data();
    const Among node(op, ranks, 0, 0, arguments);
    if (are_short(op))
        co_await exchange_short(op, kMovesForEach, op.call().bytes);
    else
        co_await publish_and_copy(op, false, &block_for);
}

}  // namespace rollcall::collectives
