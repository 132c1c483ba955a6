// Background sorted linear synchronised gather (BSLS, also BLS). J. Proficz, "Process arrival pattern aware algorithms for acceleration of
// scatter and gather operations", Cluster Computing 2020, section 4.2, Figure 10.
//
// Idea: as sorted_linear_synchronized, but a root whose call was planned collects the blocks of the ranks that have arrived while its own
// caller still computes. Only the root's own block waits for that caller (equation 20). In the paper, predictions fix the order. Here an
// arrival takes precedence over them: a rank that was called and does not arrive stops no other rank.
//
// Example: P = 3, root 0, alpha = 1, a block takes 4, half duplex, the ranks arrive at 9, 3 and 0, all are planned, and ranks 1 and 2 are
// predicted in the wrong order. Rank 0 calls 1 long before time 0. Rank 2 arrives at 0, it is called until 1, and its pieces come until 4
// and 7. The pieces of rank 1 come until 10 and 13. The ranks leave at 13, 13 and 7.
#include "collectives/arrivals/roster.hpp"
#include "collectives/gather/gather.hpp"
#include "collectives/gather/synchronized.hpp"

namespace rollcall::collectives {

Task gather_background_sorted_linear_synchronized(Operation& op) {
    if (op.rank() == op.root()) {
        co_await gather_by_arrival_root(op, true);
    } else {
        co_await announce_to_root(op);
        co_await synchronized_send(op, op.root());
    }
}

}  // namespace rollcall::collectives
