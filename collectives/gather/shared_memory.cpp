// Gather through node memory. It is our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across
// different process arrival patterns", section 3.1.
//
// Idea: each rank writes its block into memory that the ranks of its node share, and leaves, whether the root has arrived or not. The root
// copies out the blocks that are there, in whatever order they come. No rank but the root waits for another one. The copies of a planned
// root are made before its caller arrives.
//
// Example: n = 3, root 0, a copy of a block takes 1, the ranks arrive at 0, 5 and 0. Rank 2 writes until 1 and leaves. The root copies its
// own block until 1, and that of rank 2 until 2. Rank 1 writes from 5 to 6 and leaves, and the root copies its block from 6 to 7. The ranks
// leave at 7, 6 and 1.
#include "collectives/blocks/blocks.hpp"
#include "collectives/gather/gather.hpp"
#include "collectives/published/published.hpp"

namespace rollcall::collectives {
namespace {

constexpr ShortMoves kGatherMoves{ShortExchange::Flow::to_root, false, true, &same_for_all};

Task gather_long(Operation& op) {
    const auto contribution = op.arguments().contribution;
    if (op.rank() != op.root()) {
        co_await op.arrival();
        co_await publish_last(op, op.root(), contribution);
        co_return;
    }
    Uses<Incoming> others(op.size() - 1);
    for (int i = 1; i < op.size(); ++i) {
        const int rank = (op.root() + i) % op.size();
        others.add(op, rank, false, block_of(op, rank));
    }
    bool own_is_missing = true;
    Incoming* here = nullptr;
    for (int missing = others.size(); missing > 0 || own_is_missing;) {
        co_await op.until([&] { return (here = find_ready(others)) || (own_is_missing && op.has_arrived()); });
        if (here) {
            co_await copy_what_is_here(op, here->reading, here->place);
            if (here->reading.complete()) --missing;
        } else {
            own_is_missing = false;
            co_await copy_own(op, block_of(op, op.rank()), contribution);
        }
    }
}

}  // namespace

Task gather_shared_memory(Operation& op) {
    const std::uint64_t size = op.call().bytes;
    if (!op.call().own_sizes && !op.arguments().blocks && ShortExchange::suits(op.size(), size))
        return exchange_short(op, kGatherMoves, size);
    return gather_long(op);
}

ShortMove short_move_of_gather(const runtime::Arguments& arguments, const runtime::Call& call, int rank, int ranks) {
    if (rank != call.root) return {.does = ShortMove::Does::publish, .partner = call.root, .data = arguments.contribution};
    if (ranks != 2) return {};
    return {.does = ShortMove::Does::read,
            .partner = 1 - rank,
            .place = block_at(arguments.data, call, 1 - rank),
            .own = arguments.contribution,
            .own_place = block_at(arguments.data, call, rank)};
}

}  // namespace rollcall::collectives
