#include "collectives/blocks/straight.hpp"

#include <algorithm>
#include <vector>

namespace rollcall::collectives {

Task send_straight(Operation& op, BlockFor block) {
    constexpr int kAhead = 32, kWindow = 2 * kAhead;
    const int n = op.size(), rank = op.rank();
    const auto window = static_cast<std::size_t>(std::min(n - 1, kWindow));
    std::vector<Pending> receiving(window);
    int posted = 0;
    for (int i = 1; i < n; ++i) {
        // Receives are posted ahead, so that early data goes straight to its place. (No deadlock is possible: in the earliest round that
        // any rank is in, both ends of a transfer are there, so it goes on.)
        for (; posted < std::min(n - 1, i + kAhead); ++posted) {
            const int from = (rank + n - 1 - posted) % n;
            Pending& oldest = receiving[static_cast<std::size_t>(posted) % window];
            co_await oldest;
            oldest = op.receive(from, block_of(op, from), kStraightStep);
        }
        const int to = (rank + i) % n;
        co_await op.send(to, block(op, to), kStraightStep);
    }
    co_await copy_own(op, block_of(op, rank), block(op, rank));
    co_await op.all_of(receiving);
}

}  // namespace rollcall::collectives
