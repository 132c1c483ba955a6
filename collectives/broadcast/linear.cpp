// Linear (flat) broadcast. P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process arrival patterns", section 3.3, Figure 3
// (a).
//
// Idea: the root sends the message to each receiver, one after the other. No rank forwards, so no receiver waits for another one that would
// have to forward. But the root's port is the bottleneck: the mean elapsed time grows with n. (Theorem 1: the competitive ratio is
// Omega(n), in both models.)
//
// Example: n = 4, root 0, T = 1, all ranks arrive at 0. 0->1 ends at 1, 0->2 at 2, 0->3 at 3. The ranks leave at 3, 1, 2 and 3; the mean is
// 9/4.
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives {

Task broadcast_linear(Operation& op) {
    const auto data = op.arguments().data;
    if (op.rank() != op.root()) {
        co_await op.receive(op.root(), data, 0);
        co_return;
    }
    for (int i = 1; i < op.size(); ++i) co_await op.send((op.root() + i) % op.size(), data, 0);
}

}  // namespace rollcall::collectives
