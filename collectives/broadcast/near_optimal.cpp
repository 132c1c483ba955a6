// Near-optimal broadcast (nearopt), an oracle. P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process
// arrival patterns", section 3.2, Lemma 1, Figure 2.
//
// Idea: with all arrival times known beforehand, the ranks form a chain in the order of arrival; each takes the message
// from the one before it and forwards it to the one after it as it comes in. The mean elapsed time is Delta/n + T in the
// blocking model and at most T in the non-blocking one, which bounds the optimum from above. Nobody knows arrival times
// beforehand, so this runs in simulations only, with a model that forwards from the first bit on (cut-through).
//
// Example, n = 3, T = 1, arrivals 0, 5, 2, blocking: the chain is 0 -> 2 -> 1; exits: rank 0 at 2 + 1, rank 2 at 5 + 1,
// rank 1 at 5 + 1; mean elapsed (3 + 4 + 1) / 3 = 5/3 + 1.
#include <algorithm>
#include <numeric>

#include "collectives/broadcast/broadcast.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives {

Task broadcast_near_optimal(Operation& op) {
    const auto a = op.arguments().oracle;
    std::vector<int> order(a.size());
    std::iota(order.begin(), order.end(), 0);
    // The root first, then by arrival; equal arrivals by rank.
    std::stable_sort(order.begin(), order.end(), [&](int left, int right) {
        if (left == op.root() || right == op.root()) return left == op.root() && right != op.root();
        return a[static_cast<std::size_t>(left)] < a[static_cast<std::size_t>(right)];
    });
    const auto here = std::find(order.begin(), order.end(), op.rank());
    std::vector<int> after;
    if (here + 1 != order.end()) after.push_back(here[1]);
    const int before = here == order.begin() ? -1 : here[-1];
    co_await relay(op, op.arguments().data, before, std::move(after), 0, 0);
}

}  // namespace rollcall::collectives
