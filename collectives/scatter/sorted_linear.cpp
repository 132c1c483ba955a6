// Sorted linear scatter (SLIN, also SLN). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather
// operations", Cluster Computing 2020, section 4.1, Figure 5.
//
// Idea: as linear, but in the order of arrival, so that the root serves the ranks that are there before the late ones (equation 10). The
// root decides anew before each message, from what the board shows at that time. If the prediction of a rank was wrong, the arrival of the
// rank corrects it.
//
// Example: P = 4, root 0, a block takes 1, nothing lands early, the ranks arrive at 0, 5, 0 and 0, and rank 1 is predicted to be late. 0->2
// is sent from 0 to 1, 0->3 until 2, 0->1 from 5 to 6. The ranks leave at 6, 6, 1 and 2.
#include "collectives/arrivals/roster.hpp"
#include "collectives/scatter/scatter.hpp"
#include "collectives/scatter/sorted.hpp"

namespace rollcall::collectives {

Task scatter_sorted_root(Operation& op) {
    const auto result = op.arguments().result;
    Roster roster(op.size(), op.root());
    runtime::Arrivals& arrivals = op.arrivals();
    co_await op.arrival();
    for (roster.update(arrivals); !roster.empty(); roster.update(arrivals)) {
        const int rank = roster.take();
        co_await op.send_in_turn(rank, block_of(op, rank), 0);
    }
    co_await copy_own(op, result, block_of(op, op.rank()));
}

Task scatter_sorted_linear(Operation& op) {
    if (op.rank() == op.root()) {
        co_await scatter_sorted_root(op);
    } else {
        co_await announce_to_root(op);
        co_await op.receive(op.root(), op.arguments().result, 0);
    }
}

}  // namespace rollcall::collectives
