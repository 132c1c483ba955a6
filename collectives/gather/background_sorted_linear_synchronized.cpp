// Background sorted linear synchronised gather (BSLS, also BLS). J. Proficz, "Process arrival pattern aware algorithms for
// acceleration of scatter and gather operations", Cluster Computing 2020, section 4.2, Figure 10.
//
// Idea: as sorted_linear_synchronized, but a root whose call was planned collects the blocks of those who have arrived while
// its own caller still computes; only its own block waits for that (equation 20). The paper's order is fixed by predictions;
// here an arrival goes before them: a rank that was called and does not come holds nobody up.
//
// Example, P = 3, root 0, alpha = 1, a block takes 4, half duplex, arrivals 9, 3, 0, all planned, 1 and 2 predicted the wrong
// way round: 0 calls 1 long before; 2 arrives at 0, is called until 1, and its pieces come until 4 and 7; those of 1 come until
// 10 and 13; exits 13, 13, 7.
#include "collectives/gather/gather.hpp"
#include "collectives/gather/synchronized.hpp"
#include "collectives/roster.hpp"

namespace rollcall::collectives {

Task gather_background_sorted_linear_synchronized(Operation& op) {
    if (op.rank() == op.root()) {
        co_await gather_by_arrival_root(op, true);
    } else {
        co_await announce_to_root(op);
        co_await synchronized_send(op);
    }
}

}  // namespace rollcall::collectives
