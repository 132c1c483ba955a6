// Recursive doubling. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH",
// International Journal of High Performance Computing Applications 2005, section 4.1.
//
// Idea: in step k, ranks whose numbers differ in bit k exchange all blocks that they have. The number of blocks doubles each time, and they
// are side by side. If P is not a power of two, the first ranks form pairs. One rank of each pair takes part for both, and afterwards gives
// the other one all blocks (as the paper has it for reductions, section 4.5).
//
// Example: P = 6, a block takes 1, full duplex. 1->0 and 3->2 until 1. Then the ranks 0, 2, 4 and 5 go on: the first two exchange two
// blocks each, and the last two one block each, until 3 and 1. 0 gives 4 four blocks, and 2 gives 5 as many, from 3 to 7. 0->1 and 2->3 all
// six blocks from 7 to 13. The ranks leave at 13, 13, 13, 13, 7 and 7.
#include "collectives/allgather/allgather.hpp"
#include "collectives/allgather/line.hpp"
#include "collectives/combining/recursive_halving.hpp"

namespace rollcall::collectives {

Task allgather_recursive_doubling(Operation& op) {
    constexpr std::uint64_t kPair = 0, kBack = 1, kExchange = 2;
    const Line line(op, 0);
    co_await line.put_own();
    const transport::Bytes all = line.blocks(0, op.size());
    const Folding folding(op);
    if (folding.is_idle()) {
        co_await op.send(folding.partner(), line.blocks(op.rank(), 1), kPair);
        co_await op.receive(folding.partner(), all, kBack);
    } else {
        if (folding.is_paired()) co_await op.receive(folding.partner(), line.blocks(folding.partner(), 1), kPair);
        Parts parts;  // A number that stands for a pair has the blocks of both ranks.
        for (int number = 0; number < folding.all(); ++number) {
            const int first = folding.first_of(number);
            parts.add(line.blocks(first, folding.first_of(number + 1) - first).size);
        }
        co_await double_up(op, folding, parts, all, kExchange);
        if (folding.is_paired()) co_await op.send(folding.partner(), all, kBack);
    }
    co_await put_out(op, line);
}

}  // namespace rollcall::collectives
