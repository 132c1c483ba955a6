// Linear allgather. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH", International
// Journal of High Performance Computing Applications 2005, section 4, which calls this a simple algorithm.
//
// Idea: each rank sends its block to each other rank, beginning with the next one. No rank forwards. So the others lack only the late
// rank's own block until it arrives, and their blocks land where it has not arrived. Every rank sends and receives P - 1 blocks, as in the
// ring.
//
// Example: P = 4, a block takes 1, full duplex, room to land, the ranks arrive at 0, 5, 0 and 0. Until 3, ranks 0, 2 and 3 have each
// other's blocks, and rank 1 has all three. 1->2, 1->3 and 1->0 from 5 to 6, 7 and 8. The ranks leave at 8, 8, 6 and 7.
#include "collectives/allgather/allgather.hpp"
#include "collectives/blocks/straight.hpp"

namespace rollcall::collectives {

Task allgather_linear(Operation& op) { co_await send_straight(op, &same_for_all); }

}  // namespace rollcall::collectives
