// Arrival-aware broadcast for the non-blocking model (arrival_nb). P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across
// different process arrival patterns", section 4, Figure 4.
//
// Idea: as arrival_blocking, but when nobody has arrived the root does not wait: it sends the message to a receiver that
// has not, where it lands and is found on arrival. A receiver that finds it there does not announce itself. So the root
// is done after at most n-1 messages, and every receiver within 2T of its arrival (Theorem 5: the competitive ratio is
// at most 3).
//
// Example, n = 4, root 0, T = 1, arrivals 0, 9, 0.5, 5: at 0 nobody is there: 0->1 until 1; then {2}, which has waited
// since 0.5, until 2; then nobody: 0->3 until 3. The root leaves at 3, 2 at 2, 3 at 5 and 1 at 9: no waiting for either.
//
// A notice can cross the root's own message to the same rank: it is discarded, because the rank is being served.
// While a message is on its way to a receiver that has not arrived, the root serves nobody: the next group is whoever has
// come by then. Were it formed at once, those who come while the message moves would wait for two rounds, not for one.
// Where the landing budget of a receiver that has not arrived is used up, the message to it stays at the root, who is
// told so; the root goes on serving those who arrive, with one such message outstanding, and the algorithm becomes
// arrival_blocking.
#include <algorithm>

#include "collectives/broadcast/broadcast.hpp"
#include "collectives/broadcast/subgroup.hpp"

namespace rollcall::collectives {

Task broadcast_arrival_nonblocking(Operation& op) {
    const int n = op.size();
    if (op.rank() != op.root()) {
        if (!subgroup_called(op)) op.announce_arrival(op.root());
        co_await subgroup_member(op);
        co_return;
    }
    runtime::Arrivals& arrivals = op.arrivals();
    std::vector<bool> served(static_cast<std::size_t>(n), false);
    served[static_cast<std::size_t>(op.root())] = true;
    int unserved = n - 1;
    int candidate = (op.root() + 1) % n;  // nobody between the root and here is unserved
    const auto already_served = [&](int rank) { return served[static_cast<std::size_t>(rank)]; };

    MessageAhead ahead;  // one at a time
    while (unserved > 0) {
        co_await op.until([&] { return ahead.done() || (ahead.stuck() && arrivals.any()); });
        std::vector<int> group = arrivals.take();
        std::erase_if(group, already_served);
        if (!group.empty()) {
            for (const int rank : group) served[static_cast<std::size_t>(rank)] = true;
            unserved -= static_cast<int>(group.size());
            co_await subgroup_root(op, std::move(group));
        } else if (ahead.done()) {
            while (already_served(candidate)) candidate = (candidate + 1) % n;
            served[static_cast<std::size_t>(candidate)] = true;
            --unserved;
            ahead.start(op, candidate);
        }
    }
    co_await op.until([&] { return ahead.done(); });
}

}  // namespace rollcall::collectives
