// Ring allreduce. P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", Journal of Parallel and
// Distributed Computing 2009.
//
// Idea: the elements are cut into one block for each rank. In P - 1 steps each block goes round the ring, is combined on its way, and is
// complete at its last stop. In P - 1 more steps the complete blocks go round. Each rank sends and receives 2 (P - 1) / P of the elements,
// and no algorithm needs less. All ranks must arrive before any rank can finish. A block is combined in the order of the ring from its own
// rank on, which is not rank order.
//
// Example: P = 3, blocks A, B, C; those of rank r are Ar, Br, Cr. Step 1: 0->1 A0, 1->2 B1, 2->0 C2. Step 2: 0->1 C2+C0, 1->2 A0+A1, 2->0
// B1+B2. Now 0 has B, 1 has C and 2 has A. In steps 3 and 4 these go round.
#include <utility>

#include "collectives/allreduce/allreduce.hpp"
#include "collectives/blocks/members.hpp"
#include "collectives/blocks/ring.hpp"
#include "collectives/combining/combining.hpp"

namespace rollcall::collectives {

Task allreduce_ring(Operation& op) {
    const int n = op.size();
    const auto data = op.arguments().data;
    const auto contribution = op.arguments().contribution;
    if (n == 1) {
        co_await copy_own(op, data, contribution);
        co_return;
    }
    const auto block_of_all = [&](auto all, int number) { return part_of(all, share_of(op, (number % n + n) % n)); };
    const Scratch received(share_of(op, 0).size(), contribution);
    RingBlocks blocks{.room = {received.bytes(), received.bytes()},
                      .brought = [&](int number) { return block_of_all(contribution, number); },
                      .combined = [&](int number, transport::Bytes) { return block_of_all(data, number); }};
    co_await combine_around_ring(op, op.rank(), std::move(blocks));
    // Now this rank has the complete block of the rank after it.
    const Parts blocks_of_all = even_parts(op, n);
    const Members members{.size = n, .shift = n - 1};
    co_await gather_all_in_ring(op, members, (op.rank() + 1) % n, blocks_of_all, data, static_cast<std::uint64_t>(n - 1));
}

}  // namespace rollcall::collectives
