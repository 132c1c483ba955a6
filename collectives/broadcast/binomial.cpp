// Binomial-tree broadcast. P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process arrival patterns", section 3.3, Figure 3
// (b).
//
// Idea: in each step, every rank that has the message sends it to a rank that does not have it. So the number of ranks that have it
// doubles, and there are ceil(log2 n) steps. Ranks forward the message, so one late rank delays its whole subtree. (Theorem 2: the
// competitive ratio is unbounded in the non-blocking model, and Omega(n) in the blocking model.)
//
// Example: n = 8, root 0, T = 1, all ranks arrive at 0. Step 1: 0->1. Step 2: 0->2, 1->3. Step 3: 0->4, 1->5, 2->6, 3->7. All ranks have
// the message at 3. If a segment size is given, the message travels down the same tree piece by piece.
#include "collectives/trees/binomial.hpp"
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives {

Task broadcast_binomial(Operation& op) {
    TreePlace place = binomial_tree(op.size(), op.root(), op.rank());
    return relay_to_caller(op, place.parent, std::move(place.children));
}

}  // namespace rollcall::collectives
