// Alltoall through node memory. It is our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across
// different process arrival patterns", section 3.1.
//
// Idea: each rank writes a block for each other rank into memory that the ranks of its node share. It copies out the blocks for itself in
// whatever order they come. The ranks wait for nothing of a late rank but its block, and a late rank finds all other blocks there. A
// planned rank copies before its caller arrives.
//
// Example: n = 3, a copy of a block takes 1, the ranks arrive at 0, 5 and 0. Ranks 0 and 2 write two blocks until 2, copy each other's
// until 3 and their own until 4. Rank 1 writes for 2 until 6 and for 0 until 7, copies two blocks until 9, and its own until 10. Rank 2
// copies the block of rank 1 until 7, rank 0 until 8. The ranks leave at 8, 10 and 7.
//
// If the blocks are long, or in memory that the program has taken from the runtime (Job::allocate()), nothing is written, and a rank leaves
// when its readers have read (runtime/engine/publication.hpp, InPlace). In the example rank 1 copies the block of rank 0 until 6, that of
// rank 2 until 7, and its own until 8. Ranks 0 and 2 copy the block of rank 1 until 6. The ranks leave at 6, 8 and 7.
#include "collectives/alltoall/alltoall.hpp"
#include "collectives/published/published.hpp"

namespace rollcall::collectives {

Task alltoall_shared_memory(Operation& op) { return publish_and_copy(op, false, &block_for); }

ShortMove short_move_of_alltoall(const runtime::Arguments& arguments, const runtime::Call& call, int rank, int ranks) {
    if (ranks != 2) return {};
    return {.does = ShortMove::Does::exchange,
            .partner = 1 - rank,
            .data = block_at(arguments.contribution, call, 1 - rank),
            .place = block_at(arguments.data, call, 1 - rank),
            .own = block_at(arguments.contribution, call, rank),
            .own_place = block_at(arguments.data, call, rank)};
}

}  // namespace rollcall::collectives
