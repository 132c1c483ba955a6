// Online linear gather, our own: J. Proficz's background sorted linear synchronised gather without its predictions.
//
// Idea: the root calls each rank when it has arrived, first come, first served, and nobody before. It waits only while nobody
// has a block for it, begins before its own caller has arrived where the call was planned, and needs no predictions. Calling
// is worth its message: a block that is not asked for would land in a buffer of the root first, and be copied.
//
// Example, P = 3, root 0, alpha = 1, a block takes 4, half duplex, arrivals 0, 9, 0: 0 calls 2 until 1, its pieces come until
// 4 and 7; 0 calls 1 from 9 until 10, its pieces come until 13 and 16; exits 16, 16, 7.
#include "collectives/gather/gather.hpp"
#include "collectives/gather/synchronized.hpp"
#include "collectives/roster.hpp"

namespace rollcall::collectives {

Task gather_online_linear(Operation& op) {
    if (op.rank() == op.root()) {
        co_await gather_by_arrival_root(op, false);
    } else {
        co_await op.arrival();
        op.announce_arrival(op.root());
        co_await synchronized_send(op);
    }
}

}  // namespace rollcall::collectives
