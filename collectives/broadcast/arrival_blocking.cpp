// Arrival-aware broadcast for the blocking model (arrival_b). P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process
// arrival patterns", section 4, Figure 5.
//
// Idea: each receiver tells the root that it has arrived. The root serves the ranks that have arrived since it last looked with one
// sub-group broadcast. It waits only when no unserved rank has arrived. If a sub-group broadcast takes T, as in section 3.1, every receiver
// has the message within 2T of its arrival. (Theorem 6: the competitive ratio is at most (Delta + 2nT) / (Delta + (n-1)T), which is at most
// 3 for n >= 3.)
//
// Example: n = 5, root 0, T = 1, the ranks arrive at 0, 0, 0, 0.5 and 5. From 0 to 1 the root serves {1, 2}, which have arrived together.
// From 1 to 2 it serves {3}, which has waited since 0.5. Then it waits for rank 4, and serves it from 5 to 6.
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/broadcast/subgroup.hpp"

namespace rollcall::collectives {

Task broadcast_arrival_blocking(Operation& op) {
    if (op.rank() != op.root()) {
        op.announce_arrival(op.root());
        co_await subgroup_member(op);
        co_return;
    }
    runtime::Arrivals& arrivals = op.arrivals();
    for (int unserved = op.size() - 1; unserved > 0;) {
        co_await op.until([&] { return arrivals.any(); });
        co_await op.moment();
        std::vector<int> group = arrivals.take();
        unserved -= static_cast<int>(group.size());
        co_await subgroup_root(op, std::move(group), MessageAhead());
    }
}

}  // namespace rollcall::collectives
