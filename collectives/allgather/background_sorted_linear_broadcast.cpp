// Background sorted linear synchronised gather with a broadcast (BSLB). J. Proficz, "All-gather algorithms resilient to imbalanced process
// arrival patterns", ACM Transactions on Architecture and Code Optimization 2021. Only the idea is taken from there.
//
// Idea: rank 0 gathers the blocks as in the background sorted linear synchronised gather (gather/): it takes them from the ranks that have
// arrived, in the background if the call is planned. When it has the block of the last rank, it broadcasts all blocks, down a binomial
// tree or, if they are long, down a chain in pieces. After the last arrival, one block moves to rank 0, and all blocks to all ranks.
//
// Example: P = 3, alpha = 1, a block takes 4, half duplex, the ranks arrive at 9, 3 and 0, all are planned, and ranks 1 and 2 are predicted
// in the wrong order. Rank 0 has gathered all blocks at 13, as in the example of the gather. It sends them, which takes 1 + 12, to rank 1
// until 26, and to rank 2 until 39. The ranks leave at 39, 26 and 39.
#include "collectives/allgather/allgather.hpp"
#include "collectives/allgather/line.hpp"
#include "collectives/arrivals/roster.hpp"
#include "collectives/gather/synchronized.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives {

Task allgather_background_sorted_linear_broadcast(Operation& op) {
    constexpr int kRoot = 0;
    const int n = op.size();
    Line line(op, kRoot);
    if (op.rank() == kRoot) {
        co_await gather_by_arrival_root(op, true);
        for (int rank = 0; rank < n && !line.is_in_data(); ++rank)
            if (const auto block = block_of(op, rank); block.size > 0) co_await op.copy(line.blocks(rank, 1), block);
    } else {
        co_await announce_to(op, kRoot);
        co_await synchronized_send(op, kRoot);
    }
    const Members others{.first = kRoot + 1, .size = n - 1};
    co_await broadcast_to(op, kRoot, others, line.blocks(0, n), kAfterSynchronized);
    if (op.rank() != kRoot) co_await put_out(op, line);
}

}  // namespace rollcall::collectives
