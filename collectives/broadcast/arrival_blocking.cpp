// Arrival-aware broadcast for the blocking model (arrival_b). P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across
// different process arrival patterns", section 4, Figure 5.
//
// Idea: a receiver tells the root that it has arrived. The root serves whoever has arrived since it last looked with one
// sub-group broadcast, and waits only when nobody has. So every receiver has the message within 2T of its arrival
// (Theorem 6: the competitive ratio is at most (Delta + 2nT) / (Delta + (n-1)T), which is at most 3 for n >= 3).
//
// Example, n = 4, root 0, T = 1, arrivals 0, 0, 0.5, 5: at 0 the root serves {1} until 1; then {2}, which has waited
// since 0.5, until 2; then it waits for 3 and serves it from 5 to 6.
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
        std::vector<int> group = arrivals.take();
        unserved -= static_cast<int>(group.size());
        co_await subgroup_root(op, std::move(group));
    }
}

}  // namespace rollcall::collectives
