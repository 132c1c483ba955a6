// Neighbour exchange. J. Chen, L. Zhang, Y. Zhang and W. Yuan, "Performance evaluation of Allgather algorithms on terascale Linux cluster
// with fast Ethernet", HPC Asia 2005.
//
// Idea: each rank first exchanges its block with one neighbour. Then it exchanges two blocks at a time, alternately with the other
// neighbour and this one. It sends the two blocks that came last; the first time, those are its own block and the one that it got for it.
// There are P / 2 exchanges, where the ring has P - 1 steps, and as many bytes. P must be even; otherwise the ring runs instead.
//
// Example: P = 6, a block takes 1, full duplex, blocks A to F. 0-1, 2-3 and 4-5 exchange until 1. 1-2, 3-4 and 5-0 exchange two blocks each
// until 3: 1 gives A B and gets C D. 0-1, 2-3 and 4-5 exchange those two until 5: 1 gives C D and gets E F. All ranks leave at 5.
#include "collectives/allgather/allgather.hpp"
#include "collectives/allgather/line.hpp"

namespace rollcall::collectives {

Task allgather_neighbour_exchange(Operation& op) {
    const int n = op.size(), rank = op.rank();
    if (n % 2 != 0) {
        co_await allgather_ring(op);
        co_return;
    }
    const Line line(op, 0);
    co_await line.put_own();
    const bool is_even = rank % 2 == 0;
    const int partners[] = {is_even ? rank + 1 : rank - 1, (is_even ? rank + n - 1 : rank + 1) % n};
    {
        const auto receiving = op.receive(partners[0], line.blocks(partners[0], 1), 0);
        const auto sent = op.send(partners[0], line.blocks(rank, 1), 0);
        co_await receiving;
        co_await sent;
    }
    // A pair of blocks begins at an even rank. A rank sends in each step the pair that it received in the step before.
    int outgoing = rank / 2 * 2;
    for (int step = 1; step < n / 2; ++step) {
        // The sides alternate, and in every second step the pair comes from further away.
        const int distance = 2 * ((step + 1) / 2);
        const bool is_before = is_even == (step % 2 != 0);
        const int incoming = (rank / 2 * 2 + (is_before ? n - distance : distance)) % n;
        const auto number = static_cast<std::uint64_t>(step);
        const int partner = partners[step % 2];
        const auto receiving = op.receive(partner, line.blocks(incoming, 2), number);
        const auto sent = op.send(partner, line.blocks(outgoing, 2), number);
        co_await receiving;
        co_await sent;
        outgoing = incoming;
    }
    co_await put_out(op, line);
}

}  // namespace rollcall::collectives
