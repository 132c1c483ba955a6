// Background disseminated ring allgather (BDR). J. Proficz, "All-gather algorithms resilient to imbalanced process arrival patterns", ACM
// Transactions on Architecture and Code Optimization 2021. Only the idea is taken from there; the details are our own.
//
// Idea: as in the ring, each rank passes on to its right neighbour what it gets from its left one. But it passes on each block when it
// comes, in no fixed order, and in a planned call it does so in the background, before its own caller arrives. Only its own block waits for
// that caller. So the blocks of early ranks go all the way round past ranks that are late, and when a late rank arrives only its own block
// is missing elsewhere.
//
// Example: P = 4, a block takes 1, full duplex, blocks A B C D, the ranks arrive at 0, 0, 9 and 0, all are planned. 0->1 A, 1->2 B, 3->0 D
// until 1. 0->1 D, 1->2 A, 2->3 B until 2. 1->2 D, 2->3 A, 3->0 B until 3. Then rank 2 has all other blocks, and no other rank lacks any
// block but C: 2->3 C until 10, 3->0 C until 11, 0->1 C until 12. The ranks leave at 12, 12, 10 and 11.
#include <algorithm>
#include <deque>
#include <vector>

#include "collectives/allgather/allgather.hpp"
#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {

Task allgather_background_disseminated_ring(Operation& op) {
    const int n = op.size(), rank = op.rank(), right = (rank + 1) % n, left = (rank + n - 1) % n;
    struct Coming {
        int origin;
        Pending transfer;
    };
    std::deque<Coming> coming;
    std::vector<Pending> sending;
    // The step of a message is the rank whose block it is. Blocks of near ranks are expected first.
    for (int i = 1; i < n; ++i) {
        const int origin = (rank + n - i) % n;
        coming.push_back({origin, op.receive(left, block_of(op, origin), static_cast<std::uint64_t>(origin))});
    }
    bool has_sent_own = false;
    while (!has_sent_own || !coming.empty()) {
        auto here = coming.end();
        co_await op.until([&] {
            here = std::find_if(coming.begin(), coming.end(), [](const Coming& one) { return one.transfer.done(); });
            return here != coming.end() || (!has_sent_own && op.has_arrived());
        });
        if (!has_sent_own && op.has_arrived()) {
            has_sent_own = true;
            const auto own = op.arguments().contribution;
            if (n > 1) sending.push_back(op.send(right, own, static_cast<std::uint64_t>(rank)));
            co_await copy_own(op, block_of(op, rank), own);
        } else if (here != coming.end()) {
            if (here->origin != right)
                sending.push_back(op.send(right, block_of(op, here->origin), static_cast<std::uint64_t>(here->origin)));
            coming.erase(here);
        }
    }
    co_await op.all_of(sending);
}

}  // namespace rollcall::collectives
