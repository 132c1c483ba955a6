// Linear gather (LIN). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather operations", Cluster
// Computing 2020, section 2.1.
//
// Idea: the root receives the block of each rank, one after the other. No rank forwards, and each block moves once. But P-1 messages enter
// through one port (equation 3), and a late rank stops all ranks that come after it.
//
// Example: P = 4, root 0, a block takes 1, nothing lands early, the ranks arrive at 0, 5, 0 and 0. 1->0 is sent from 5 to 6, 2->0 until 7,
// 3->0 until 8. The ranks leave at 8, 6, 7 and 8.
//
// The root posts all receives at once for blocks of different sizes, of which the paper says nothing, and where parts of calls run without
// their callers: each block then goes straight to its place, and no late rank stops others.
#include <vector>

#include "collectives/blocks/blocks.hpp"
#include "collectives/gather/gather.hpp"

namespace rollcall::collectives {

Task gather_linear(Operation& op) {
    const auto contribution = op.arguments().contribution;
    if (op.rank() != op.root()) {
        co_await op.send(op.root(), contribution, 0);
        co_return;
    }
    std::vector<Pending> receiving;
    for (int rank = 0; rank < op.size(); ++rank) {
        if (rank == op.root()) continue;
        receiving.push_back(op.receive(rank, block_of(op, rank), 0));
        if (!op.call().own_sizes && !op.is_decoupled()) co_await receiving.back();
    }
    co_await op.all_of(receiving);
    co_await copy_own(op, block_of(op, op.rank()), contribution);
}

}  // namespace rollcall::collectives
