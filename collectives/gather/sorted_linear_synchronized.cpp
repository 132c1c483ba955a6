// Sorted linear synchronised gather (SLS). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather
// operations", Cluster Computing 2020, section 4.2, Figure 9.
//
// Idea: as linear_synchronized, but the root calls the ranks in the order of arrival. So it takes the blocks of the ranks that are there
// before those of the late ranks (equation 18). The root decides anew before each call, from what the board shows at that time.
//
// Example: P = 3, root 0, alpha = 1, a block takes 4, half duplex, the ranks arrive at 0, 9 and 0, and rank 1 is predicted to be late. 0
// calls 2 until 1, and its pieces come until 4 and 7. 0 calls 1 until 8, and its pieces come from 9 until 12 and 15. The ranks leave at 15,
// 15 and 7.
#include "collectives/arrivals/roster.hpp"
#include "collectives/gather/gather.hpp"
#include "collectives/gather/synchronized.hpp"

namespace rollcall::collectives {

Task gather_sorted_linear_synchronized(Operation& op) {
    const auto contribution = op.arguments().contribution;
    if (op.rank() != op.root()) {
        co_await announce_to_root(op);
        co_await synchronized_send(op, op.root());
        co_return;
    }
    Roster roster(op.size(), op.root());
    runtime::Arrivals& arrivals = op.arrivals();
    co_await op.arrival();
    SynchronizedReceives receives(op);
    for (roster.update(arrivals); !roster.empty(); roster.update(arrivals)) co_await receives.call(roster.take());
    co_await op.all_of(receives.second_pieces());
    co_await copy_own(op, block_of(op, op.rank()), contribution);
}

}  // namespace rollcall::collectives
