// Background sorted linear scatter (BSLN). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather
// operations", Cluster Computing 2020, section 4.1, Figure 6.
//
// Idea: as sorted_linear, but a rank whose call was planned receives its block while its caller still computes. So a late rank does not
// stop the root (equation 11). Without a plan the algorithm behaves as sorted_linear.
//
// Example: P = 4, root 0, a block takes 1, the ranks arrive at 0, 5, 0 and 0, all are planned, and rank 1 is predicted to be late. 0->2 is
// sent from 0 to 1, 0->3 until 2, 0->1 until 3. The ranks leave at 3, 5, 1 and 2.
#include "collectives/arrivals/roster.hpp"
#include "collectives/scatter/scatter.hpp"
#include "collectives/scatter/sorted.hpp"

namespace rollcall::collectives {

Task scatter_background_sorted_linear(Operation& op) {
    if (op.rank() == op.root()) {
        co_await scatter_sorted_root(op);
    } else {
        const Pending received = op.receive(op.root(), op.arguments().result, 0);
        co_await announce_to_root(op, &received);
        co_await received;
    }
}

}  // namespace rollcall::collectives
