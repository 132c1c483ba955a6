// Bruck's allgather. J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal and D. Weathersby, "Efficient algorithms for all-to-all communications in
// multiport message-passing systems", IEEE Transactions on Parallel and Distributed Systems 1997, section 4.
//
// Idea: in round k a rank sends the rank 2^k before it the first 2^k blocks that it has, its own first, and puts those that come from the
// rank 2^k after it behind its own. After ceil(log2 P) rounds, for any P, it has all, from its own on, and puts them in order: the fewest
// messages, and a copy more.
//
// Example, P = 5, a block takes 1, full duplex, blocks A B C D E: round 0: 0 gets B, 1 gets C, ... until 1; round 1: 0 (A B) gets C D from
// 2, ... until 3; round 2: 0 (A B C D) gets E from 4, ... until 4. All exit at 4.
#include <algorithm>

#include "collectives/allgather/allgather.hpp"
#include "collectives/allgather/line.hpp"

namespace rollcall::collectives {

Task allgather_bruck(Operation& op) {
    const int n = op.size(), rank = op.rank();
    const Line line(op, rank);
    co_await line.put_own();
    std::uint64_t step = 0;
    for (int distance = 1; distance < n; distance *= 2, ++step) {
        const int count = std::min(distance, n - distance), after = (rank + distance) % n;
        const auto receiving = op.receive(after, line.blocks(after, count), step);
        const auto sent = op.send((rank + n - distance) % n, line.blocks(rank, count), step);
        co_await receiving;
        co_await sent;
    }
    co_await put_out(op, line);
}

}  // namespace rollcall::collectives
