// Bruck's allgather. J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal and D. Weathersby, "Efficient algorithms for all-to-all communications in
// multiport message-passing systems", IEEE Transactions on Parallel and Distributed Systems 1997, section 4.
//
// Idea: each rank keeps its blocks in a row that begins with its own. In round k it sends the first 2^k of them to the rank 2^k before it,
// and appends the blocks that come from the rank 2^k after it. After ceil(log2 P) rounds, for any P, it has all blocks, and puts them in
// the order of ranks. That is the smallest number of messages, for the price of one more copy.
//
// Example: P = 5, a block takes 1, full duplex, blocks A B C D E. Round 0: 0 gets B, 1 gets C, ... until 1. Round 1: 0 (A B) gets C D from
// 2, ... until 3. Round 2: 0 (A B C D) gets E from 4, ... until 4. All ranks leave at 4.
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
