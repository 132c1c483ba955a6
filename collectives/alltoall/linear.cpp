// Linear alltoall. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH", International
// Journal of High Performance Computing Applications 2005, section 4.4: the algorithm for messages of middle length.
//
// Idea: each rank sends to one after the other, the next one first, so that not all begin with the same one, and takes what comes from all
// of them meanwhile. A rank that is late keeps nothing from the others but its own blocks; theirs land where it has not come.
//
// Example, P = 3, a block takes 1, full duplex, room to land, arrivals 0, 4, 0: 0->1 and 2->0 until 1, 0->2 and 2->1 until 2; 1->2 from 4
// to 5, 1->0 until 6. Exits 6, 6, 5.
#include "collectives/alltoall/alltoall.hpp"
#include "collectives/straight.hpp"

namespace rollcall::collectives {

Task alltoall_linear(Operation& op) { co_await send_straight(op, &block_for); }

}  // namespace rollcall::collectives
