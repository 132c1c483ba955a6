// Linear alltoall. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH", International
// Journal of High Performance Computing Applications 2005, the section on all-to-all: the algorithm for messages of middle length.
//
// Idea: each rank sends to the others one after the other. It begins with the next rank, so that not all ranks begin with the same one.
// Meanwhile it takes what comes from all others. The others lack only a late rank's own blocks until it arrives, and their blocks land
// where it has not arrived.
//
// Example: P = 3, a block takes 1, full duplex, room to land, the ranks arrive at 0, 4 and 0. 0->1 and 2->0 until 1; 0->2 and 2->1 until 2;
// 1->2 from 4 to 5; 1->0 until 6. The ranks leave at 6, 6 and 5.
#include "collectives/alltoall/alltoall.hpp"
#include "collectives/blocks/straight.hpp"

namespace rollcall::collectives {

Task alltoall_linear(Operation& op) { co_await send_straight(op, &block_for); }

}  // namespace rollcall::collectives
