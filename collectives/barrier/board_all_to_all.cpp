// Barrier over the boards: everybody signals to everybody.
//
// Idea: one step. Where ranks share memory a signal is a store into the board of its target, which nobody has to handle: n - 1
// stores are cheaper than a second step, and where ranks share cores each is scheduled once after the last has come, no more.
//
// Example, n = 3: 0 -> 1, 2; 1 -> 2, 0; 2 -> 0, 1; who has heard the two others leaves.
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
