// Recursive halving. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH", International
// Journal of High Performance Computing Applications 2005, the section on reduce-scatter.
//
// Idea: two ranks that are P / 2 apart exchange the blocks of each other's half, and each combines those of its own half. Then two ranks
// that are P / 4 apart within a half do the same, and so on. It takes log2 P steps to send (P - 1) / P of the vector. If P is not a power
// of two, the first ranks form pairs; one rank of each pair takes part for both, and gives the other one its block at the end. The elements
// are not combined in rank order.
//
// Example: P = 6, a block takes 1, full duplex. 1->0 and 3->2 send the whole vector until 6. Now 0 acts for {0, 1}, 2 for {2, 3}, and 4 and
// 5 for themselves. 0 <-> 4 and 2 <-> 5 exchange: 0->4 {4, 5} until 8 and 4->0 {0, 1, 2, 3} until 10, and 2 and 5 likewise. 0 <-> 2
// exchange two blocks until 12, 4 <-> 5 one block until 11. 0->1 and 2->3 until 13.
#include "collectives/combining/recursive_halving.hpp"
#include "collectives/reduce_scatter/reduce_scatter.hpp"

namespace rollcall::collectives {

Task reduce_scatter_recursive_halving(Operation& op) {
    constexpr std::uint64_t kPair = 0, kBack = 1, kHalves = 2;
    const auto contribution = op.arguments().contribution;
    const auto data = op.arguments().data;
    if (op.size() == 1) {
        co_await copy_own(op, data, contribution);
        co_return;
    }
    const Folding folding(op);
    if (folding.is_idle()) {
        co_await combine_pair(op, folding, {}, kPair);
        co_await op.receive(folding.partner(), data, kBack);
        co_return;
    }
    Parts parts;
    for (int number = 0; number < folding.all(); ++number) {
        std::uint64_t size = 0;
        for (int rank = folding.first_of(number); rank < folding.first_of(number + 1); ++rank) size += brought_for(op, rank).size;
        parts.add(size);
    }
    const Scratch sum(contribution.size, contribution);
    if (!folding.is_paired()) {
        co_await combine_in_groups(op, halving_groups(folding), parts, contribution, sum.bytes(), data, kHalves);
        co_return;
    }
    co_await combine_pair(op, folding, sum.bytes(), kPair);
    const auto both = parts_of(sum.bytes(), parts, folding.number(), folding.number());
    co_await combine_in_groups(op, halving_groups(folding), parts, sum.bytes(), sum.bytes(), both, kHalves);
    const auto sent = op.send(folding.partner(), runtime::slice(both, data.size, both.size - data.size), kBack);
    co_await op.copy(data, runtime::slice(both, 0, data.size));
    co_await sent;
}

}  // namespace rollcall::collectives
