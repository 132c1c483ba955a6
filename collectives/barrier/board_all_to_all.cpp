// Barrier over the boards: every rank signals to every other rank. It is our own.
//
// Idea: one step is enough. Where ranks share memory, a signal is a store into the board of its target, and the target does not have to
// handle a message. So n - 1 stores are cheaper than a second step. Where ranks share cores, each rank is scheduled only once after the
// last rank has arrived.
//
// Example: n = 3. 0 -> 1, 2; 1 -> 2, 0; 2 -> 0, 1. A rank leaves when it has the signals of the two others.
#include "collectives/barrier/barrier.hpp"

namespace rollcall::collectives {

runtime::Task barrier_board_all_to_all(runtime::Operation& op) {
    if (!op.can_signal()) {
        co_await barrier_dissemination(op);
        co_return;
    }
    co_await op.turn();
    op.signal(op.rank() + 1, op.size() - 1);
    co_await op.signals(op.rank() + 1, op.size() - 1);
}

}  // namespace rollcall::collectives
