// Pipelined linear-tree broadcast (linear-p). P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process arrival patterns",
// section 3.3, Figure 3 (c).
//
// Idea: the ranks form a chain that starts at the root. The message is cut into X segments, and each rank passes a segment on as soon as it
// has received it. The time is (X + n - 2) segment times; for large messages it comes close to T, whatever n is. One late rank stops all
// ranks behind it. (Theorem 3: the competitive ratio is unbounded in the non-blocking model, and Omega(n) in the blocking model.)
//
// Example: n = 4, root 0, X = 3 segments that take 1 each, all ranks arrive at 0. Rank 1 has the segments at 1, 2, 3; rank 2 at 2, 3, 4;
// rank 3 at 3, 4, 5 = X + n - 2.
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives {

Task broadcast_pipelined(Operation& op) {
    const int n = op.size();
    const int v = (op.rank() - op.root() + n) % n;
    const int before = v > 0 ? (op.rank() - 1 + n) % n : -1;
    std::vector<int> after;
    if (v + 1 < n) after.push_back((op.rank() + 1) % n);
    return relay_to_caller(op, before, std::move(after));
}

}  // namespace rollcall::collectives
