// Online linear scatter. It is our own: what arrival_nonblocking does for a broadcast (P. Patarasuk and X. Yuan, "Efficient MPI_Bcast
// across different process arrival patterns", section 4, Figure 4), in the order of J. Proficz's sorted scatters.
//
// Idea: the root serves the ranks that have arrived. While no rank waits, it sends ahead, one block at a time, to the rank that is expected
// next. If that rank's call was planned, the block goes into the place of its result, otherwise into a landing buffer. If there is no room,
// the block stays at the root, and the root goes on serving the ranks that arrive.
//
// Example: P = 4, root 0, a block takes 1, there is room to land, the ranks arrive at 0, 9, 0.5 and 5, none is predicted. At 0 no other
// rank is there: 0->1 until 1. Then rank 2, which has waited since 0.5, until 2. Then no unserved rank is there: 0->3 until 3. The ranks
// leave at 3, 9, 2 and 5.
#include "collectives/arrivals/roster.hpp"
#include "collectives/blocks/blocks.hpp"
#include "collectives/scatter/scatter.hpp"

namespace rollcall::collectives {

Task scatter_online_linear(Operation& op) {
    const auto result = op.arguments().result;
    if (op.rank() != op.root()) {
        const bool is_here = op.is_here(op.root(), 0);
        const Pending received = op.receive(op.root(), result, 0);
        if (!is_here) co_await announce_to_root(op, &received);
        co_await received;
        co_return;
    }
    constexpr BlockFor kBlock = [](const Operation& its, int rank) -> transport::ConstBytes { return block_of(its, rank); };
    co_await serve_as_they_arrive(op, kBlock, Arrived::first_come_first_served);
    co_await copy_own(op, result, block_of(op, op.rank()));
}

}  // namespace rollcall::collectives
