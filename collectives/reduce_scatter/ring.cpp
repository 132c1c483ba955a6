// Ring reduce_scatter: the first half of the ring allreduce of P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for
// clusters of workstations", Journal of Parallel and Distributed Computing 2009.
//
// Idea: the block of rank r begins at rank r + 1 and goes round the ring. Each rank combines it with its own elements of that block, and
// the block is complete when it comes to r. There are P - 1 steps, and in each one every rank sends a block and receives one. No algorithm
// moves less. A block is combined in the order of the ring from rank r + 1 on, which is not rank order.
//
// Example: P = 3, a block takes 1, blocks A, B, C; those of rank r are Ar, Br, Cr. Until 1: 0->1 C0, 1->2 A1, 2->0 B2. Until 2: 0->1 B2+B0,
// 1->2 C0+C1, 2->0 A1+A2.
#include <algorithm>
#include <utility>

#include "collectives/blocks/ring.hpp"
#include "collectives/reduce_scatter/reduce_scatter.hpp"

namespace rollcall::collectives {

Task reduce_scatter_ring(Operation& op) {
    const auto data = op.arguments().data;
    if (op.size() == 1) {
        co_await copy_own(op, data, op.arguments().contribution);
        co_return;
    }
    std::uint64_t longest = 0;
    for (int rank = 0; rank < op.size(); ++rank) longest = std::max(longest, brought_for(op, rank).size);
    const Scratch received(2 * longest, data);
    RingBlocks blocks{.room = {runtime::slice(received.bytes(), 0, longest), runtime::slice(received.bytes(), longest, longest)},
                      .brought = [&](int rank) { return brought_for(op, rank); },
                      .combined = [&](int rank, transport::Bytes come) { return rank == op.rank() ? data : come; }};
    co_await combine_around_ring(op, op.rank() - 1, std::move(blocks));
}

}  // namespace rollcall::collectives
