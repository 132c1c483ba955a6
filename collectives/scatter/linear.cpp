// Linear scatter (LIN). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather operations", Cluster
// Computing 2020, section 2.1.
//
// Idea: the root sends each rank its block, one after the other. No rank forwards, and each block moves once. But P-1 messages leave one
// port (equation 3), and where blocks cannot land early, a late rank stops all ranks that come after it (equation 9).
//
// Example: P = 4, root 0, a block takes 1, nothing lands early, the ranks arrive at 0, 5, 0 and 0. 0->1 is sent from 5 to 6, 0->2 until 7,
// 0->3 until 8. The ranks leave at 8, 6, 7 and 8.
#include "collectives/blocks/blocks.hpp"
#include "collectives/scatter/scatter.hpp"

namespace rollcall::collectives {

Task scatter_linear(Operation& op) {
    const auto result = op.arguments().result;
    if (op.rank() != op.root()) {
        co_await op.receive(op.root(), result, 0);
        co_return;
    }
    for (int rank = 0; rank < op.size(); ++rank)
        if (rank != op.root()) co_await op.send_in_turn(rank, block_of(op, rank), 0);
    co_await copy_own(op, result, block_of(op, op.rank()));
}

}  // namespace rollcall::collectives
