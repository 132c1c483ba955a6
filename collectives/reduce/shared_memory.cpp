// Reduce through node memory. It is our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across
// different process arrival patterns", section 3.1.
//
// Idea: each rank writes its elements into memory that the ranks of its node share, and leaves, whether the root has arrived or not. The
// root combines the elements right there, in whatever order they come, or in rank order if the order matters. No rank but the root waits
// for another one.
//
// Example: n = 3, root 0, a copy takes 1, and so does combining, the ranks arrive at 0, 5 and 0. Rank 2 writes until 1 and leaves. The root
// copies its own elements until 1, and combines them with those of rank 2 until 2. Rank 1 writes from 5 to 6 and leaves, and the root
// combines from 6 to 7. The ranks leave at 7, 6 and 1.
#include "collectives/combining/combining.hpp"
#include "collectives/published/published.hpp"
#include "collectives/reduce/reduce.hpp"

namespace rollcall::collectives {
namespace {

Task combine_as_they_come(Operation& op) {
    const auto contribution = op.arguments().contribution;
    const auto data = op.arguments().data;
    Uses<Reading> others(op.size() - 1);
    for (int i = 1; i < op.size(); ++i) others.add(op, (op.root() + i) % op.size(), false, contribution.size);
    co_await copy_own(op, data, contribution);
    Reading* here = nullptr;
    for (int missing = others.size(); missing > 0;) {
        co_await op.until([&] { return (here = find_ready(others)) != nullptr; });
        co_await combine_what_is_here(op, *here, data, data);
        if (here->complete()) --missing;
    }
}

constexpr ShortMoves kContributionMoves{ShortExchange::Flow::to_root, false, false, &same_for_all};

Task combine_short_as_they_come(Operation& op) {
    const auto contribution = op.arguments().contribution;
    const auto data = op.arguments().data;
    ShortExchange exchange(op, ShortExchange::Flow::to_root, false, contribution.size);
    if (contribution.data != data.data || !data.data) co_await exchange.copy(data, contribution);
    for (;;) {
        while (exchange.next_here()) {
            co_await op.combine(data, data, exchange.bytes());
            if (!exchange.let_go()) co_await op.failure();
        }
        if (exchange.complete()) break;
        co_await op.until([&] { return exchange.can_go_on(); });
    }
}

Task reduce_long(Operation& op) {
    if (op.rank() != op.root())
        co_await publish_last(op, op.root(), op.arguments().contribution);
    else if (op.arguments().combiner.any_order)
        co_await combine_as_they_come(op);
    else
        co_await combine_in_rank_order(op, false);
}

}  // namespace

Task reduce_shared_memory(Operation& op) {
    const std::uint64_t size = op.arguments().contribution.size;
    if (!ShortExchange::suits(op.size(), size)) return reduce_long(op);
    if (op.rank() != op.root()) return exchange_short(op, kContributionMoves, size);
    return op.arguments().combiner.any_order ? combine_short_as_they_come(op) : combine_in_rank_order(op, false);
}

ShortMove short_move_of_reduce(const runtime::Arguments& arguments, const runtime::Call& call, int rank, int ranks) {
    if (rank == call.root && ranks != 2) return {};
    if (rank == call.root)
        return {.does = ShortMove::Does::read,
                .partner = 1 - rank,
                .place = arguments.data,
                .own = arguments.contribution,
                .combiner = &arguments.combiner};
    return {.does = ShortMove::Does::publish, .partner = call.root, .data = arguments.contribution};
}

}  // namespace rollcall::collectives
