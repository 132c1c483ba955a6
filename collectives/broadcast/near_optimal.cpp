// Near-optimal broadcast (nearopt), an oracle. P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process arrival patterns",
// section 3.2, Lemma 1, Figure 2.
//
// Idea: all arrival times are known beforehand, and the ranks form a chain in the order of arrival. Each rank takes the message from the
// rank before it and forwards it, while it comes in, to the rank after it. The mean elapsed time is Delta/n + T in the blocking model and
// at most T in the non-blocking model. This is an upper bound of the optimum. Real programs do not know arrival times beforehand, so this
// algorithm runs in simulations only, with a model in which ranks forward from the first bit on (cut-through).
//
// Example: n = 3, T = 1, the ranks arrive at 0, 5 and 2, blocking model. The chain is 0 -> 2 -> 1. Rank 0 leaves at 2 + 1, rank 2 at 5 + 1
// and rank 1 at 5 + 1. The mean elapsed time is (3 + 4 + 1) / 3 = 5/3 + 1.
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives {

Task broadcast_near_optimal(Operation& op) {
    const Nanoseconds* const a = op.arguments().oracle;
    // The order of the chain: the root first, then the others by arrival, ranks with equal arrival times by rank. One pass finds this
    // rank's neighbours in the chain. If every rank sorted, all together would need O(n^2 log n).
    const auto before = [&](int left, int right) {
        if (left == op.root() || right == op.root()) return left == op.root() && right != op.root();
        const Nanoseconds a_left = a[static_cast<std::size_t>(left)], a_right = a[static_cast<std::size_t>(right)];
        return a_left != a_right ? a_left < a_right : left < right;
    };
    int predecessor = -1, successor = -1;
    for (int other = 0; other < op.size(); ++other) {
        if (before(other, op.rank()) && (predecessor < 0 || before(predecessor, other))) predecessor = other;
        if (before(op.rank(), other) && (successor < 0 || before(other, successor))) successor = other;
    }
    std::vector<int> after;
    if (successor >= 0) after.push_back(successor);
    co_await relay(op, op.arguments().data, predecessor, std::move(after), 0, 0);
}

}  // namespace rollcall::collectives
