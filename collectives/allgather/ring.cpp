// Ring allgather. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH", International
// Journal of High Performance Computing Applications 2005, section 4.1.
//
// Idea: there are P - 1 steps. In each step, every rank sends its right neighbour the block that it last got from its left neighbour; in
// the first step it sends its own. Each rank sends and receives P - 1 blocks, and no algorithm needs fewer. Blocks move only between
// neighbours, so no link of any network is crowded. The block of a late rank comes late to all ranks, and so do the blocks behind it that
// the late rank has not passed on.
//
// Example: P = 4, a block takes 1, full duplex, blocks A B C D. Step 1: 0->1 A, 1->2 B, 2->3 C, 3->0 D. Step 2: 0->1 D, 1->2 A, 2->3 B,
// 3->0 C. Step 3: 0->1 C, 1->2 D, 2->3 A, 3->0 B. All ranks leave at 3.
#include "collectives/allgather/allgather.hpp"
#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {

Task allgather_ring(Operation& op) {
    const int n = op.size(), rank = op.rank();
    const int right = (rank + 1) % n, left = (rank + n - 1) % n;
    const auto block_before = [&](int distance) { return block_of(op, (rank + n - distance) % n); };
    const auto contribution = op.arguments().contribution;
    Pending next = n > 1 ? op.receive(left, block_before(1), 0) : Pending();
    Pending sent;
    for (int i = 0; i + 1 < n; ++i) {
        const auto step = static_cast<std::uint64_t>(i);
        const Pending receiving = std::move(next);
        if (i + 2 < n) next = op.receive(left, block_before(i + 2), step + 1);
        Pending sending = op.send(right, i == 0 ? contribution : transport::ConstBytes(block_before(i)), step);
        co_await receiving;
        co_await sent;
        sent = std::move(sending);
    }
    co_await copy_own(op, block_of(op, rank), contribution);
    co_await sent;
}

}  // namespace rollcall::collectives
