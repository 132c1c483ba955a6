// Bruck's alltoall. J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal and D. Weathersby, "Efficient algorithms for all-to-all communications in
// multiport message-passing systems", IEEE Transactions on Parallel and Distributed Systems 1997, section 3.
//
// Idea: a block for the rank i places after this one has a distance of i to go. In round k, each rank sends all blocks whose distance has
// bit k set to the rank 2^k after it, in one message. After ceil(log2 P) rounds all blocks have arrived. That is the smallest number of
// messages, but each byte is sent log2 P / 2 times on average, and packed each time. For short blocks.
//
// Example: P = 5, a block takes 1, full duplex. Round 0: the blocks with distances 1 and 3 move by 1, until 2. Round 1: those with 2 and 3,
// until 4. Round 2: that with 4, until 5. All ranks leave at 5.
#include <algorithm>

#include "collectives/alltoall/alltoall.hpp"
#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {

Task alltoall_bruck(Operation& op) {
    const int n = op.size(), rank = op.rank();
    const std::uint64_t bytes = op.call().bytes;
    const auto data = op.arguments().data;
    const auto contribution = op.arguments().contribution;
    const auto blocks = [&](const Scratch& in, int first, int count) {
        return blocks_of(in.bytes(), bytes, static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    };
    if (n == 1) {
        co_await copy_own(op, data, contribution);
        co_return;
    }
    // The number of blocks whose distance has this bit set.
    const auto blocks_with = [&](int bit) { return n / (2 * bit) * bit + std::max(n % (2 * bit) - bit, 0); };
    int most = 0;
    for (int bit = 1; bit < n; bit *= 2) most = std::max(most, blocks_with(bit));
    const Scratch on_way(bytes * static_cast<std::uint64_t>(n), data);  // at index i: the block whose whole distance is i
    const Scratch outgoing(bytes * static_cast<std::uint64_t>(most), data), incoming(bytes * static_cast<std::uint64_t>(most), data);

    const auto after = bytes * static_cast<std::uint64_t>(rank);
    co_await op.copy(blocks(on_way, 0, n - rank), runtime::slice(contribution, after, contribution.size - after));
    if (rank > 0) co_await op.copy(blocks(on_way, n - rank, rank), runtime::slice(contribution, 0, after));
    std::uint64_t step = 0;
    for (int bit = 1; bit < n; bit *= 2, ++step) {
        const int count = blocks_with(bit);
        const auto receiving = op.receive((rank + n - bit) % n, blocks(incoming, 0, count), step);
        int packed = 0;
        for (int way = bit; way < n; way += 2 * bit) {
            const int run = std::min(bit, n - way);
            co_await op.copy(blocks(outgoing, packed, run), blocks(on_way, way, run));
            packed += run;
        }
        const auto sent = op.send((rank + bit) % n, blocks(outgoing, 0, count), step);
        co_await receiving;
        int unpacked = 0;
        for (int way = bit; way < n; way += 2 * bit) {
            const int run = std::min(bit, n - way);
            co_await op.copy(blocks(on_way, way, run), blocks(incoming, unpacked, run));
            unpacked += run;
        }
        co_await sent;
    }
    for (int way = 0; way < n; ++way) co_await op.copy(block_of(op, (rank + n - way) % n), blocks(on_way, way, 1));
}

}  // namespace rollcall::collectives
