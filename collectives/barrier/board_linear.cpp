// Linear barrier over the boards: every rank signals to rank 0, which then signals to every rank. It is our own form of the linear barrier.
//
// Idea: as the linear barrier, but no message has to be handled. Where ranks share memory, it takes 2(n-1) stores in all.
//
// Example: n = 4. 1, 2, 3 -> 0; then 0 -> 1, 2, 3.
#include "collectives/barrier/barrier.hpp"

namespace rollcall::collectives {

runtime::Task barrier_board_linear(runtime::Operation& op) {
    if (!op.can_signal()) {
        co_await barrier_linear(op);
        co_return;
    }
    co_await op.turn();
    if (op.rank() == 0) {
        co_await op.signals(1, op.size() - 1);
        op.signal(1, op.size() - 1);
    } else {
        op.signal(0, 1);
        co_await op.signals(0, 1);
    }
}

}  // namespace rollcall::collectives
