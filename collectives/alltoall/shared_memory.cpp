// Alltoall through node memory, our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different
// process arrival patterns", section 3.1.
//
// Idea: each rank writes a block for each other one into memory that the ranks of its node share, and copies out those for itself as they
// come, in whatever order. Nobody waits for a late rank but for its block, and a late rank finds all others there. A planned rank copies
// before its caller arrives.
//
// Example, n = 3, a copy of a block takes 1, arrivals 0, 5, 0: 0 and 2 write two blocks until 2, copy their own until 3 and each other's
// until 4; 1 writes for 2 until 6 and for 0 until 7, its own until 8, and copies two until 10; 2 copies 1's until 7, 0 until 8. Exits 8,
// 10, 7.
#include "collectives/alltoall/alltoall.hpp"
#include "collectives/published.hpp"

namespace rollcall::collectives {

Task alltoall_shared_memory(Operation& op) { co_await publish_and_copy(op, false, &block_for); }

}  // namespace rollcall::collectives
