// Dissemination barrier. D. Hensgen, R. Finkel and U. Manber, "Two algorithms for barrier synchronization", International Journal of
// Parallel Programming 17(1), 1988.
//
// Idea: in round k, each rank tells the rank 2^k after it what it has heard so far. After ceil(log2 n) rounds every rank has heard of every
// other rank. No rank sends more than ceil(log2 n) messages.
//
// Example: n = 4. Round 0: 0->1, 1->2, 2->3, 3->0. Round 1: 0->2, 1->3, 2->0, 3->1.
#include "collectives/barrier/barrier.hpp"

namespace rollcall::collectives {

runtime::Task barrier_dissemination(runtime::Operation& op) {
    const long long n = op.size(), p = op.rank();
    std::uint64_t round = 0;
    for (long long distance = 1; distance < n; distance *= 2, ++round) {
        const auto heard = op.receive(static_cast<int>((p - distance + n) % n), {}, round);
        op.send(static_cast<int>((p + distance) % n), {}, round);
        co_await heard;
    }
}

}  // namespace rollcall::collectives
