// Broadcast through node memory, our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across
// different process arrival patterns", section 3.1.
//
// Idea: the root writes the message into memory that the ranks of its node share, piece by piece, and leaves. The others copy
// it out when they come, each piece as soon as it is there. Nobody waits for anybody but the root, no message is handled, and each
// rank is scheduled once. A planned call copies before its caller arrives.
//
// Example, n = 4, root 0, a copy of the message takes 1, one piece, arrivals 0, 0, 3, 0: the root writes until 1 and leaves; 1
// and 3 copy from 1 to 2; 2 copies from 3 to 4. Exits 1, 2, 4, 2.
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/published.hpp"

namespace rollcall::collectives {

Task broadcast_shared_memory(Operation& op) {
    const auto data = op.arguments().data;
    if (op.rank() == op.root()) {
        co_await op.arrival();
        if (op.size() > 1) co_await publish_all(op, kEverybody, data);
    } else {
        co_await copy_all(op, op.root(), true, data);
    }
}

}  // namespace rollcall::collectives
