#include "collectives/blocks/straight.hpp"

#include <algorithm>
#include <vector>

namespace rollcall::collectives {

Task send_straight(Operation& op, BlockFor block) {
    constexpr int kAhead = 32, kWindow = 2 * kAhead;
    const int n = op.size(), rank = op.rank();
    const auto window = static_cast<std::size_t>(std::min(n - 1, kWindow));
    std::vector<Pending> receiving(window);
    std::vector<int> landed;  // What is here is only to be copied, for which no other rank waits: beside sends, one block in each round.
    int posted = 0;
    for (int i = 1; i < n; ++i) {
        // Receives are posted ahead, so that early data goes straight to its place. (No deadlock is possible: in the earliest round that
        // any rank is in, both ends of a transfer are there, so it goes on.)
        for (; posted < std::min(n - 1, i + kAhead); ++posted) {
            const int from = (rank + n - 1 - posted) % n;
            if (op.has_landed(from, kStraightStep)) {
                landed.push_back(from);
                continue;
            }
            Pending& oldest = receiving[static_cast<std::size_t>(posted) % window];
            co_await oldest;
            oldest = op.receive(from, block_of(op, from), kStraightStep);
        }
        const int to = (rank + i) % n;
        const Pending sending = op.send(to, block(op, to), kStraightStep);
        if (!landed.empty()) {
            co_await op.receive(landed.back(), block_of(op, landed.back()), kStraightStep);
            landed.pop_back();
        }
        co_await sending;
    }
    co_await copy_own(op, block_of(op, rank), block(op, rank));
    for (const int from : landed) co_await op.receive(from, block_of(op, from), kStraightStep);
    co_await op.all_of(receiving);
}

}  // namespace rollcall::collectives
