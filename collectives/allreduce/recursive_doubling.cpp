// Recursive doubling. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH",
// International Journal of High Performance Computing Applications 2005, section 4.5.
//
// Idea: in step k, ranks whose numbers differ in bit k exchange all that they have, and combine. After log2 P steps every rank has the
// whole result. If P is not a power of two, the first ranks form pairs, and one rank of each pair takes part for both. What a rank has
// combined always comes from consecutive ranks, so rank order is kept, and both ranks of an exchange compute the same bits.
//
// Example: P = 6, a message takes 1, full duplex. 1->0 and 3->2 until 1. Then the ranks 0, 2, 4 and 5 go on: 0 and 2 exchange until 2
// (abcd), 4 and 5 until 1 (ef); 0 with 4 and 2 with 5 until 3. 0->1 and 2->3 until 4.
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/combining/combining.hpp"
#include "collectives/combining/folding.hpp"

namespace rollcall::collectives {

Task allreduce_recursive_doubling(Operation& op) {
    constexpr std::uint64_t kPair = 0, kBack = 1, kExchange = 2;
    const auto data = op.arguments().data;
    const auto contribution = op.arguments().contribution;
    const Folding folding(op);
    if (folding.is_idle()) {
        co_await op.send(folding.partner(), contribution, kPair);
        co_await op.receive(folding.partner(), data, kBack);
        co_return;
    }
    if (op.size() == 1) co_await copy_own(op, data, contribution);
    const Scratch received(op.size() > 1 ? data.size : 0, data);
    transport::ConstBytes mine = contribution;
    if (folding.is_paired()) {
        co_await op.receive(folding.partner(), received.bytes(), kPair);
        co_await op.combine(data, contribution, received.bytes());
        mine = data;
    }
    const int own = folding.number();
    std::uint64_t step = kExchange;
    for (int bit = 1; bit < folding.all(); bit *= 2) {
        const int other = folding.rank_of(own ^ bit);
        const auto incoming = op.receive(other, received.bytes(), step);
        const auto outgoing = op.send(other, mine, step++);
        co_await incoming;
        co_await outgoing;  // the result will be written over what is being sent
        const bool is_lower = (own & bit) == 0;
        const transport::ConstBytes theirs = received.bytes();
        co_await op.combine(data, is_lower ? mine : theirs, is_lower ? theirs : mine);
        mine = data;
    }
    if (folding.is_paired()) co_await op.send(folding.partner(), data, kBack);
}

}  // namespace rollcall::collectives
