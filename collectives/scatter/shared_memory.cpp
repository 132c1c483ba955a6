// Scatter through node memory. It is our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across
// different process arrival patterns", section 3.1.
//
// Idea: the root writes each rank's block into memory that the ranks of its node share, and leaves. Each other rank copies its block out
// when it arrives. No rank waits for any rank but the root. The copy of a planned call is made before its caller arrives.
//
// A long block would be copied twice in this way, and the root would make all the first copies. So it first offers such blocks where they
// stand, and copies its own. A rank that has come meanwhile copies its block from there. The root then writes the blocks that no rank has
// begun to copy, and leaves when those copies have ended that had begun: it waits for no rank that has not come. (Where its caller stays
// until the data has left, it writes nothing.)
//
// Example: n = 3, root 0, a copy of a block takes 1, the ranks arrive at 0, 0 and 5. The root writes the block of rank 1 until 1, that of
// rank 2 until 2, copies its own until 3 and leaves. Rank 1 copies from 1 to 2, rank 2 from 5 to 6. The ranks leave at 3, 2 and 6. With
// long blocks, the root and rank 1 copy until 1, and the root writes the block of rank 2 until 2. The ranks leave at 2, 1 and 6.
#include "collectives/blocks/blocks.hpp"
#include "collectives/published/published.hpp"
#include "collectives/scatter/scatter.hpp"

namespace rollcall::collectives {
namespace {

int rank_after_root(const Operation& op, int places) { return (op.root() + places) % op.size(); }

Task write_short(Operation& op) {
    std::vector<Pending> sends;
    for (int i = 1; i < op.size(); ++i) {
        const int rank = rank_after_root(op, i);
        co_await publish_for_one(op, rank, block_of(op, rank), sends);
    }
    co_await copy_own(op, op.arguments().result, block_of(op, op.rank()));
    co_await op.all_of(sends);
}

Task offer_and_write(Operation& op) {
    Uses<Outgoing> outgoing(op.size() - 1);
    for (int i = 1; i < op.size(); ++i) {
        const int rank = rank_after_root(op, i);
        outgoing.add(op, rank, block_of(op, rank), Publisher::leaves, InPlace::offered);
    }
    std::vector<Pending> sends;
    for (Outgoing& out : outgoing)
        if (out.publication.is_in_place() && out.can_go_on()) co_await go_on(op, out, sends);
    for (Outgoing& out : outgoing) co_await publish_rest(op, out, sends);
    co_await copy_own(op, op.arguments().result, block_of(op, op.rank()));
    for (Outgoing& out : outgoing) {
        if (out.publication.is_read() || op.stays()) continue;
        co_await op.give_way();
        if (out.publication.take_back()) co_await publish_rest(op, out, sends);
    }
    co_await op.all_of(sends);
    co_await all_read(op, outgoing);
}

constexpr ShortMoves kScatterMoves{ShortExchange::Flow::from_root, false, true, &scattered_to, &place_of_result};

Task publish_blocks(Operation& op) {
    co_await op.arrival();
    co_await scatter_from_here(op);
}

}  // namespace

Task scatter_from_here(Operation& op) {
    bool is_short = true;
    for (int i = 1; i < op.size(); ++i) is_short = is_short && block_of(op, rank_after_root(op, i)).size <= runtime::kLeastOffered;
    if (is_short)
        co_await write_short(op);
    else
        co_await offer_and_write(op);
}

Task scatter_shared_memory(Operation& op) {
    const std::uint64_t size = op.call().bytes;
    if (!op.call().own_sizes && !op.arguments().blocks && ShortExchange::suits(op.size(), size))
        return exchange_short(op, kScatterMoves, size);
    return op.rank() == op.root() ? publish_blocks(op) : copy_all(op, op.root(), false, op.arguments().result);
}

ShortMove short_move_of_scatter(const runtime::Arguments& arguments, const runtime::Call& call, int rank, int ranks) {
    if (rank != call.root) return {.does = ShortMove::Does::read, .partner = call.root, .place = arguments.result};
    if (ranks != 2) return {};
    return {.does = ShortMove::Does::publish,
            .partner = 1 - rank,
            .data = block_at(arguments.data, call, 1 - rank),
            .own = block_at(arguments.data, call, rank),
            .own_place = arguments.result};
}

}  // namespace rollcall::collectives
