// Linear allgather. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH", International
// Journal of High Performance Computing Applications 2005, section 4, where it is what is meant by a simple algorithm.
//
// Idea: each rank sends its block to each other one, the next rank first. Nobody forwards, so a rank that is late keeps nothing from the
// others but its own block; theirs land where it has not come. All ranks send and receive P - 1 blocks, as in the ring.
//
// Example, P = 4, a block takes 1, full duplex, room to land, arrivals 0, 5, 0, 0: until 3 ranks 0, 2 and 3 have each other's blocks, and
// 1 has all three; 1->2, 1->3 and 1->0 from 5 to 6, 7 and 8. Exits 8, 8, 6, 7.
#include "collectives/allgather/allgather.hpp"
#include "collectives/straight.hpp"

namespace rollcall::collectives {

Task allgather_linear(Operation& op) { co_await send_straight(op, &same_for_all); }

}  // namespace rollcall::collectives
