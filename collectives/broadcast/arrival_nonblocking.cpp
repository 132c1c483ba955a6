// Arrival-aware broadcast for the non-blocking model (arrival_nb). P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process
// arrival patterns", section 4, Figure 4.
//
// Idea: as arrival_blocking, but the root does not wait when no unserved rank has arrived. Instead it sends the message to a rank that has
// not arrived. The message lands there, and the rank finds it on arrival; such a rank does not announce itself. Therefore the root is done
// after at most n-1 messages. If a sub-group broadcast takes T, as in section 3.1, every receiver has the message within 2T of its arrival.
// (Theorem 5: the competitive ratio is at most 3.)
//
// The message ahead goes in instalments, and the root looks at its board between them (the paper cuts such messages, too). If others have
// arrived, it serves them first. So ranks that arrive a little after the root wait for an instalment, not for a whole message. If the rank
// that was sent instalments has arrived with others, it belongs to their group. If it has arrived alone, it gets the remaining instalments
// at once, and ranks that arrive meanwhile are served after it.
//
// Example: n = 5, root 0, T = 1, 8 instalments, the ranks arrive at 0, 9, 0.5, 0.5 and 5. At 0 no other rank is there: the root sends to 1
// until 0.5. Then it serves {2, 3} until 1.5. Then no unserved rank is there: it sends the rest to 1 until 2, and to 4 until 3. The root
// leaves at 3, ranks 2 and 3 at 1.5, rank 4 at 5 and rank 1 at 9. Ranks 2 and 3 wait for no one.
//
// A rank's notice of its arrival can cross the root's last instalment to the same rank. The root discards such a notice, because it has
// served that rank.
//
// While an instalment moves, the root serves no rank: both would leave through the same port.
//
// When the landing budget of a rank that has not arrived is used up, an instalment for it stays at the root, and the root learns this. The
// root goes on serving the ranks that arrive, with one such instalment outstanding, and the algorithm becomes arrival_blocking.

#include "collectives/broadcast/broadcast.hpp"
#include "collectives/broadcast/subgroup.hpp"

namespace rollcall::collectives {

Task broadcast_arrival_nonblocking(Operation& op) {
    const int n = op.size();
    if (op.rank() != op.root()) {
        if (!message_is_ahead(op)) op.announce_arrival(op.root());
        co_await subgroup_member(op);
        co_return;
    }
    runtime::Arrivals& arrivals = op.arrivals();
    std::vector<bool> served(static_cast<std::size_t>(n), false);
    int unserved = n;
    const auto already_served = [&](int rank) { return served[static_cast<std::size_t>(rank)]; };
    const auto serve = [&](int rank) {
        served[static_cast<std::size_t>(rank)] = true;
        --unserved;
    };
    serve(op.root());
    int candidate = op.root();  // all ranks between the root and this one are served
    const std::uint64_t all = MessageAhead::instalments(op.arguments().data.size);

    MessageAhead ahead;      // at most one instalment at a time
    std::vector<int> group;  // the unserved ranks that have arrived
    while (unserved > 0) {
        co_await op.until([&] { return ahead.done() || (ahead.stuck() && arrivals.any()); });
        co_await op.moment();
        for (const int rank : arrivals.take())
            if (!already_served(rank)) group.push_back(rank);
        if (group.size() == 1 && ahead.sent_to(group.front()) > 0) {
            // The rest goes without a look at the board. If the root looked, a rank that comes now would make it send all of the message
            // once more, and the first rank would wait for longer than 2T.
            const int rank = group.front();
            while (ahead.sent_to(rank) < all) {
                co_await op.until([&] { return ahead.done(); });
                ahead.send_next(op, rank);
            }
            serve(rank);
            group.clear();
        } else if (!group.empty()) {
            for (const int rank : group) serve(rank);
            co_await subgroup_root(op, std::exchange(group, {}), ahead);
        } else if (ahead.done()) {
            while (already_served(candidate)) candidate = (candidate + 1) % n;
            ahead.send_next(op, candidate);
            if (ahead.sent_to(candidate) == all) serve(candidate);
        }
    }
    co_await op.until([&] { return ahead.done(); });
}

}  // namespace rollcall::collectives
