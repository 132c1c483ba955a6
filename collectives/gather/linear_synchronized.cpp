// Linear synchronised gather (LS). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather
// operations", Cluster Computing 2020, section 2.1; the exchange is that of section 4.2, Figure 9, without its sorting.
//
// Idea: as linear, but a rank sends only when the root calls it, and it sends its block in two pieces. The root calls the next rank when
// the first piece is here. So blocks do not collide at the root, and each goes straight to its place (equation 5).
//
// Example: P = 3, root 0, alpha = 1, a block takes 4, half duplex, all ranks arrive at 0. 0 calls 1 until 1, and its pieces come until 4
// and 7. 0 calls 2 until 8, and its pieces come until 11 and 14. The ranks leave at 14, 7 and 14.
#include "collectives/gather/gather.hpp"
#include "collectives/gather/synchronized.hpp"

namespace rollcall::collectives {

Task gather_linear_synchronized(Operation& op) {
    const auto contribution = op.arguments().contribution;
    if (op.rank() != op.root()) {
        co_await synchronized_send(op, op.root());
        co_return;
    }
    SynchronizedReceives receives(op);
    for (int rank = 0; rank < op.size(); ++rank)
        if (rank != op.root()) co_await receives.call(rank);
    co_await op.all_of(receives.second_pieces());
    co_await copy_own(op, block_of(op, op.rank()), contribution);
}

}  // namespace rollcall::collectives
