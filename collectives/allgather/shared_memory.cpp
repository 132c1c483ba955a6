// Allgather through node memory. It is our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across
// different process arrival patterns", section 3.1.
//
// Idea: each rank writes its block once, for all others, into memory that the ranks of its node share. It copies out the blocks of the
// others in whatever order they come. The ranks wait for nothing of a late rank but its block, and a late rank finds all other blocks
// there. A planned rank copies before its caller arrives.
//
// Example: n = 3, a copy of a block takes 1, the ranks arrive at 0, 5 and 0. Ranks 0 and 2 write until 1, copy each other's block until 2
// and their own until 3. Rank 1 writes from 5 to 6. Then the rest is copied: ranks 0 and 2 copy the block of rank 1 until 7; rank 1 copies
// two more and its own until 9. The ranks leave at 7, 9 and 7. (Between two ranks a block is read where it stands, if it is in memory from
// Job::allocate(). Among more, rank 1 would have to copy all blocks before the others could leave.)
#include "collectives/allgather/allgather.hpp"
#include "collectives/published/published.hpp"

namespace rollcall::collectives {

Task allgather_shared_memory(Operation& op) { return publish_and_copy(op, true, &same_for_all); }

ShortMove short_move_of_allgather(const runtime::Arguments& arguments, const runtime::Call& call, int rank, int ranks) {
    if (ranks != 2) return {};
    return {.does = ShortMove::Does::exchange,
            .for_everybody = true,
            .partner = 1 - rank,
            .data = arguments.contribution,
            .place = block_at(arguments.data, call, 1 - rank),
            .own = arguments.contribution,
            .own_place = block_at(arguments.data, call, rank)};
}

}  // namespace rollcall::collectives
