// Recursive doubling. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH",
// International Journal of High Performance Computing Applications 2005, section 4.5.
//
// Idea: in step k ranks whose numbers differ in bit k exchange all that they have, and combine: after log2 P steps everybody has
// everything. Where P is no power of two, the first ranks begin in pairs, of which one takes part for both. Each has combined ranks that
// follow one another, so rank order is kept, and both of a pair compute the same bits.
//
// Example, P = 6, a message takes 1, full duplex: 0->1 and 2->3 until 1; of 1, 3, 4, 5 the first two, and the last two, exchange until 2
// (abcd, ef); 1 with 4 and 3 with 5 until 3; 1->0 and 3->2 until 4.
#include <bit>

#include "collectives/allreduce/allreduce.hpp"
#include "collectives/combining.hpp"

namespace rollcall::collectives {

Task allreduce_recursive_doubling(Operation& op) {
    constexpr std::uint64_t kPair = 0, kBack = 1, kExchange = 2;
    const int n = op.size(), rank = op.rank();
    const auto data = op.arguments().data;
    const auto contribution = op.arguments().contribution;
    const int all = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
    const int pairs = n - all;
    const bool is_paired = rank < 2 * pairs;
    if (is_paired && rank % 2 == 0) {
        co_await op.send(rank + 1, contribution, kPair);
        co_await op.receive(rank + 1, data, kBack);
        co_return;
    }
    const Scratch received(n > 1 ? data.size : 0, data);
    if (is_paired) {
        co_await op.receive(rank - 1, received.bytes(), kPair);
        co_await op.combine(data, received.bytes(), contribution);
    } else {
        co_await copy_own(op, data, contribution);
    }
    const int own = is_paired ? rank / 2 : rank - pairs;
    const auto rank_of = [&](int number) { return number < pairs ? 2 * number + 1 : number + pairs; };
    std::uint64_t step = kExchange;
    for (int bit = 1; bit < all; bit *= 2) {
        const int other = rank_of(own ^ bit);
        const auto incoming = op.receive(other, received.bytes(), step);
        const auto outgoing = op.send(other, data, step++);
        co_await incoming;
        co_await outgoing;  // it is sent from where the result goes
        const bool is_lower = (own & bit) == 0;
        co_await op.combine(data, is_lower ? data : received.bytes(), is_lower ? received.bytes() : data);
    }
    if (is_paired) co_await op.send(rank - 1, data, kBack);
}

}  // namespace rollcall::collectives
