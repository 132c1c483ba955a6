// Neighbour exchange. J. Chen, L. Zhang, Y. Zhang and W. Yuan, "Performance evaluation of Allgather algorithms on terascale Linux cluster
// with fast Ethernet", HPC Asia 2005.
//
// Idea: each rank exchanges its block with one neighbour, and then, in turn with the other one and this one, the two blocks that came
// last (at first: its own, and what came for it). P / 2 exchanges where the ring has P - 1 steps, with as many bytes. P must be even: else
// it is done as in the ring.
//
// Example, P = 6, a block takes 1, full duplex, blocks A to F: 0-1, 2-3 and 4-5 exchange until 1; 1-2, 3-4 and 5-0 exchange two each until
// 3: 1 gives A B and gets C D; 0-1, 2-3 and 4-5 exchange those two until 5: 1 gives C D and gets E F. All exit at 5.
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
    // Pairs of blocks begin at even ranks. What goes out in a step came in the step before.
    int outgoing = rank / 2 * 2;
    for (int step = 1; step < n / 2; ++step) {
        // From the other side each time, and in each second step from a pair further away.
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
