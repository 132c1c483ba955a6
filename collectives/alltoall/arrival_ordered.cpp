// Arrival-ordered alltoall. After Y. Qian and A. Afsahi, "Process arrival pattern aware alltoall and allgather on InfiniBand clusters",
// International Journal of Parallel Programming 2011. Only one idea is taken from there: early ranks exchange with each other first,
// because they can see which ranks have arrived. The choice of the rank to send ahead to, while no rank waits, is that of our online linear
// scatter.
//
// Idea: a rank that arrives announces it on the boards of all ranks whose blocks it waits for. It first sends blocks to the ranks that have
// arrived. While no rank waits for it, it sends ahead, one block at a time, and the block lands where its receiver has not arrived. So
// early ranks are done with each other before late ranks arrive, and a late rank finds its blocks there.
//
// Example: P = 4, a block takes 1, full duplex, room to land, the ranks arrive at 0, 9, 0 and 9. Ranks 0 and 2 see each other, and exchange
// until 1. Then they send ahead to 1 and 3 until 2 and 3. Ranks 1 and 3 arrive at 9, serve each other and then 0 and 2. All ranks leave at
// 12.
#include <vector>

#include "collectives/alltoall/alltoall.hpp"
#include "collectives/arrivals/roster.hpp"
#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {

Task alltoall_arrival_ordered(Operation& op) {
    const int n = op.size(), rank = op.rank();
    std::vector<Pending> receiving(static_cast<std::size_t>(n));
    std::vector<int> landed;  // What is here is only to be copied, for which no other rank waits: last.
    for (int i = 1; i < n; ++i)
        if (const int from = (rank + n - i) % n; op.has_arrived() && op.has_landed(from, 0))
            landed.push_back(from);
        else
            receiving[static_cast<std::size_t>(from)] = op.receive(from, block_of(op, from), 0);
    co_await op.arrival();
    for (int i = 1; i < n; ++i)
        if (const int other = (rank + i) % n; !receiving[static_cast<std::size_t>(other)].done()) op.announce_arrival(other);
    // The order is by rank, from this rank on. In the order of arrival, all ranks would begin with the same one.
    co_await serve_as_they_arrive(op, &block_for, Arrived::by_rank);
    co_await copy_own(op, block_of(op, rank), block_for(op, rank));
    for (const int from : landed) co_await op.receive(from, block_of(op, from), 0);
    co_await op.all_of(receiving);
}

}  // namespace rollcall::collectives
