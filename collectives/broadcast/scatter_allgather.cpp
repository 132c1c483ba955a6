// Scatter-allgather broadcast. P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process arrival patterns", section 3.3; R.
// Thakur, R. Rabenseifner and W. Gropp, ANL/MCS-P1140-0304 (binomial scatter, then ring all-gather).
//
// Idea: the root scatters the message of m bytes down a binomial tree, m/n bytes for each rank. Then the ranks pass the blocks round a ring
// until every rank has all of them. No rank sends more than about 2m bytes. All ranks must arrive before any rank can finish: the algorithm
// synchronises them. (Theorem 4: the competitive ratio is unbounded in the non-blocking model, and Omega(n) in the blocking model.)
//
// Example: n = 4, root 0, blocks A B C D. Scatter: 0->2 {C, D}, 0->1 {B}, 2->3 {D}. Ring, step 1: 0->1 A, 1->2 B, 2->3 C, 3->0 D. Step 2:
// 0->1 D, 1->2 A, 2->3 B, 3->0 C. Step 3: 0->1 C, 1->2 D, 2->3 A, 3->0 B.
#include "collectives/blocks/members.hpp"
#include "collectives/broadcast/broadcast.hpp"

namespace rollcall::collectives {

Task broadcast_scatter_allgather(Operation& op) {
    const int n = op.size();
    if (n == 1) co_return;
    co_await scatter_and_gather_all(op, {.size = n, .shift = op.root()}, (op.rank() - op.root() + n) % n, op.arguments().data, 0);
}

}  // namespace rollcall::collectives
