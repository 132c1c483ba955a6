// Scatter through node memory. It is our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across
// different process arrival patterns", section 3.1.
//
// Idea: the root writes each rank's block into memory that the ranks of its node share, and leaves. Each other rank copies its block out
// when it arrives. No rank waits for any rank but the root. The copy of a planned call is made before its caller arrives.
//
// Example: n = 3, root 0, a copy of a block takes 1, the ranks arrive at 0, 0 and 5. The root writes the block of rank 1 until 1, that of
// rank 2 until 2, copies its own until 3 and leaves. Rank 1 copies from 1 to 2, rank 2 from 5 to 6. The ranks leave at 3, 2 and 6.
#include "collectives/blocks/blocks.hpp"
#include "collectives/published/published.hpp"
#include "collectives/scatter/scatter.hpp"

namespace rollcall::collectives {
namespace {

Task write(Operation& op) {
    co_await op.arrival();
    for (int i = 1; i < op.size(); ++i) {
        const int rank = (op.root() + i) % op.size();
        co_await publish_all(op, rank, block_of(op, rank));
    }
    co_await copy_own(op, op.arguments().result, block_of(op, op.rank()));
}

}  // namespace

Task scatter_shared_memory(Operation& op) {
    return op.rank() == op.root() ? write(op) : copy_all(op, op.root(), false, op.arguments().result);
}

}  // namespace rollcall::collectives
