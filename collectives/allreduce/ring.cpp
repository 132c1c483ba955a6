// Ring allreduce. P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", Journal of Parallel and
// Distributed Computing 2009.
//
// Idea: the elements are cut into a block for each rank. In P - 1 steps each block goes round the ring and is combined on its way, so that
// it is complete where it arrives; in P - 1 steps more the complete blocks go round. Each rank sends and receives 2 (P - 1) / P of the
// elements: no algorithm needs less. All must be there before any can finish. A block is combined in the order of the ring from its own
// rank on: that is not rank order.
//
// Example, P = 3, blocks A, B, C of rank r: Ar, Br, Cr. Step 1: 0->1 A0, 1->2 B1, 2->0 C2; step 2: 0->1 C2+C0, 1->2 A0+A1, 2->0 B1+B2: now
// 0 has B, 1 has C, 2 has A. Steps 3 and 4: they go round.
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/combining.hpp"

namespace rollcall::collectives {

Task allreduce_ring(Operation& op) {
    const int n = op.size();
    const auto data = op.arguments().data;
    const auto contribution = op.arguments().contribution;
    if (n == 1) {
        co_await copy_own(op, data, contribution);
        co_return;
    }
    const int right = (op.rank() + 1) % n, left = (op.rank() + n - 1) % n;
    const auto block_of_all = [&](auto all, int number) {
        const Share share = share_of(op, (number % n + n) % n);
        return runtime::slice(all, share.begin, share.size());
    };
    const Scratch received(share_of(op, 0).size(), contribution);
    std::uint64_t step = 0;
    for (int i = 0; i + 1 < n; ++i, ++step) {
        const int outgoing = op.rank() - i, incoming = outgoing - 1;
        const auto to_combine = block_of_all(contribution, incoming);
        const auto come = runtime::slice(received.bytes(), 0, to_combine.size);
        const auto receiving = op.receive(left, come, step);
        const auto sent =
            op.send(right, i == 0 ? block_of_all(contribution, outgoing) : transport::ConstBytes(block_of_all(data, outgoing)), step);
        co_await receiving;
        co_await op.combine(block_of_all(data, incoming), come, to_combine);
        co_await sent;
    }
    for (int i = 0; i + 1 < n; ++i, ++step) {
        const auto receiving = op.receive(left, block_of_all(data, op.rank() - i), step);
        const auto sent = op.send(right, block_of_all(data, op.rank() + 1 - i), step);
        co_await receiving;
        co_await sent;
    }
}

}  // namespace rollcall::collectives
