// Arrival-aware broadcast for the non-blocking model (arrival_nb). P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process
// arrival patterns", section 4, Figure 4.
//
// Idea: as arrival_blocking, but the root does not wait when no unserved rank has arrived. Instead it sends the message to a rank that has
// not arrived. The message lands there, and the rank finds it on arrival; such a rank does not announce itself. Therefore the root is done
// after at most n-1 messages. If a sub-group broadcast takes T, as in section 3.1, every receiver has the message within 2T of its arrival.
// (Theorem 5: the competitive ratio is at most 3.)
//
// Example: n = 5, root 0, T = 1, the ranks arrive at 0, 9, 0.5, 0.5 and 5. At 0 no other rank is there: the root sends to 1 until 1. Then
// it serves {2, 3}, which have waited since 0.5, until 2. Then no unserved rank is there: it sends to 4 until 3. The root leaves at 3,
// ranks 2 and 3 at 2, rank 4 at 5 and rank 1 at 9. Ranks 4 and 1 do not wait.
//
// A rank's notice of its arrival can cross the root's message to the same rank. The root discards such a notice, because it is already
// serving that rank.
//
// While a message is on its way to a rank that has not arrived, the root serves no other rank. The next group consists of the ranks that
// have arrived by the time the message is there. If the root formed a group at once, the ranks that arrive while the message moves would
// wait for two rounds instead of one.
//
// When the landing budget of a rank that has not arrived is used up, the message to it stays at the root, and the root learns this. The
// root goes on serving the ranks that arrive, with one such message outstanding, and the algorithm becomes arrival_blocking.
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
    int candidate = (op.root() + 1) % n;  // all ranks between the root and this one are served
    const auto already_served = [&](int rank) { return served[static_cast<std::size_t>(rank)]; };

    MessageAhead ahead;  // at most one at a time
    while (unserved > 0) {
        co_await op.until([&] { return ahead.done() || (ahead.stuck() && arrivals.any()); });
        co_await op.moment();
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
