// Background disseminated ring allgather (BDR). J. Proficz, "All-gather algorithms resilient to imbalanced process arrival patterns", ACM
// Transactions on Architecture and Code Optimization 2021. Only the idea is taken from there; the details are our own.
//
// Idea: as in the ring, each rank passes on to its right neighbour what it gets from its left one. But it passes on each block when it
// comes, in no fixed order, and in the background, before its own caller arrives. In a planned call it has the caller's buffers then.
// Otherwise it passes blocks on from where they have landed. Only its own block waits for that caller. So the blocks of early ranks go all
// the way round past ranks that are late, and when a late rank arrives only its own block is missing elsewhere.
//
// Example: P = 4, a block takes 1, full duplex, blocks A B C D, the ranks arrive at 0, 0, 9 and 0, all are planned. 0->1 A, 1->2 B, 3->0 D
// until 1. 0->1 D, 1->2 A, 2->3 B until 2. 1->2 D, 2->3 A, 3->0 B until 3. Then rank 2 has all other blocks, and no other rank lacks any
// block but C: 2->3 C until 10, 3->0 C until 11, 0->1 C until 12. The ranks leave at 12, 12, 10 and 11.
#include "collectives/allgather/allgather.hpp"
#include "collectives/allgather/dissemination.hpp"

namespace rollcall::collectives {

Task allgather_background_disseminated_ring(Operation& op) {
    const int n = op.size(), rank = op.rank();
    Dissemination ring(op, (rank + 1) % n, (rank + n - 1) % n, rank, n);
    co_await pass_on_until_buffers(op, ring);
    ring.receive([&](int origin) { return block_of(op, origin); });
    co_await go_on_until_arrival(op, ring);
    const auto own = op.arguments().contribution;
    ring.send_own(own);
    co_await copy_own(op, block_of(op, rank), own);
    co_await go_on_until_complete(op, ring);
    co_await all_sent(op, ring);
}

}  // namespace rollcall::collectives
