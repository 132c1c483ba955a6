// Linear reduce, the simplest algorithm. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in
// MPICH", 2005, compare others with it.
//
// Idea: the root receives the elements of each rank, one after the other in rank order, and combines them with what it has. No rank
// forwards, so a rank is done when its message has left. The root receives and combines everything.
//
// Example: P = 4, root 2, a message takes 1, combining takes no time, nothing lands early, all ranks arrive at 0. 0->2 until 1, 1->2 until
// 2 (a + b), then the root's own elements (a + b + c), 3->2 until 3. The ranks leave at 1, 2, 3 and 3.
#include "collectives/combining/combining.hpp"
#include "collectives/reduce/reduce.hpp"

namespace rollcall::collectives {

Task reduce_linear(Operation& op) {
    const auto contribution = op.arguments().contribution;
    if (op.rank() != op.root()) {
        co_await op.send(op.root(), contribution, 0);
        co_return;
    }
    const InRankOrder order(op);
    if (op.root() == 0)
        co_await copy_own(op, order.first(), contribution);
    else
        co_await op.receive(0, order.first(), 0);
    const Scratch received(op.size() > 1 ? contribution.size : 0, contribution);
    for (int rank = 1; rank < op.size(); ++rank) {
        if (rank != op.root()) co_await op.receive(rank, received.bytes(), 0);
        co_await op.combine(order.into(rank), order.left(), rank == op.root() ? contribution : transport::ConstBytes(received.bytes()));
    }
}

}  // namespace rollcall::collectives
