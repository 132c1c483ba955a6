// Recursive doubling. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH",
// International Journal of High Performance Computing Applications 2005, section 4.1.
//
// Idea: in step k, ranks whose numbers differ in bit k exchange all blocks that they have. The number of blocks doubles each time, and they
// are side by side. If P is not a power of two, the first ranks form pairs. One rank of each pair takes part for both, and afterwards gives
// the other one all blocks (as the paper has it for reductions, section 4.5).
//
// Example: P = 6, a block takes 1, full duplex. 0->1 and 2->3 until 1. Then the ranks 1, 3, 4 and 5 go on: the first two exchange two
// blocks each, and the last two one block each, until 3 and 1. 1 gives 4 four blocks, and 3 gives 5 as many, from 3 to 7. 1->0 and 3->2 all
// six blocks from 7 to 13. The ranks leave at 13, 13, 13, 13, 7 and 7.
#include <bit>

#include "collectives/allgather/allgather.hpp"
#include "collectives/allgather/line.hpp"

namespace rollcall::collectives {

Task allgather_recursive_doubling(Operation& op) {
    constexpr std::uint64_t kPair = 0, kBack = 1, kExchange = 2;
    const int n = op.size(), rank = op.rank();
    const int all = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
    const int pairs = n - all;
    const Line line(op, 0);
    co_await line.put_own();
    const bool is_paired = rank < 2 * pairs;
    if (is_paired && rank % 2 == 0) {
        co_await op.send(rank + 1, line.blocks(rank, 1), kPair);
        co_await op.receive(rank + 1, line.blocks(0, n), kBack);
        co_await put_out(op, line);
        co_return;
    }
    if (is_paired) co_await op.receive(rank - 1, line.blocks(rank - 1, 1), kPair);
    const int own = is_paired ? rank / 2 : rank - pairs;
    const auto rank_of = [&](int number) { return number < pairs ? 2 * number + 1 : number + pairs; };
    // The blocks of `count` numbers from `number` on. A number that stands for a pair has the blocks of both ranks.
    const auto blocks_from = [&](int number, int count) {
        const auto first_of = [&](int it) { return it < pairs ? 2 * it : it + pairs; };
        return line.blocks(first_of(number), first_of(number + count) - first_of(number));
    };
    std::uint64_t step = kExchange;
    for (int bit = 1; bit < all; bit *= 2, ++step) {
        const int first = own & ~(bit - 1), other = rank_of(own ^ bit);
        const auto receiving = op.receive(other, blocks_from(first ^ bit, bit), step);
        const auto sent = op.send(other, blocks_from(first, bit), step);
        co_await receiving;
        co_await sent;
    }
    if (is_paired) co_await op.send(rank - 1, line.blocks(0, n), kBack);
    co_await put_out(op, line);
}

}  // namespace rollcall::collectives
