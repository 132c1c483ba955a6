// Online linear gather. It is our own: J. Proficz's background sorted linear synchronised gather without its predictions.
//
// Idea: the root calls each rank once the rank has arrived, first come, first served, and no rank before that. The root waits only while no
// rank has a block for it. Where its call was planned, it begins before its own caller has arrived. The call is worth its message: a block
// that the root did not ask for would first land in a buffer of the root and then be copied.
//
// Example: P = 3, root 0, alpha = 1, a block takes 4, half duplex, the ranks arrive at 0, 9 and 0. 0 calls 2 until 1, and its pieces come
// until 4 and 7. 0 calls 1 from 9 until 10, and its pieces come until 13 and 16. The ranks leave at 16, 16 and 7.
#include "collectives/arrivals/roster.hpp"
#include "collectives/gather/gather.hpp"
#include "collectives/gather/synchronized.hpp"

namespace rollcall::collectives {

Task gather_online_linear(Operation& op) {
    if (op.rank() == op.root()) {
        co_await gather_by_arrival_root(op, false);
    } else {
        co_await op.arrival();
        op.announce_arrival(op.root());
        co_await synchronized_send(op, op.root());
    }
}

}  // namespace rollcall::collectives
