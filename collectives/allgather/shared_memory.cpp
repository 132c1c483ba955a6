// Allgather through node memory, our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different
// process arrival patterns", section 3.1.
//
// Idea: each rank writes its block into memory that the ranks of its node share, once for all, and copies out the blocks of the others as
// they come, in whatever order. Nobody waits for a late rank but for its block, and a late rank finds all others there. A planned rank
// copies before its caller arrives.
//
// Example, n = 3, a copy of a block takes 1, arrivals 0, 5, 0: 0 and 2 write until 1, copy their own until 2 and each other's until 3; 1
// writes from 5 to 6, then all that is left is copied: 0 and 2 copy 1's until 7, 1 its own and two more until 9. Exits 7, 9, 7.
#include "collectives/allgather/allgather.hpp"
#include "collectives/published.hpp"

namespace rollcall::collectives {

Task allgather_shared_memory(Operation& op) { co_await publish_and_copy(op, true, &same_for_all); }

}  // namespace rollcall::collectives
