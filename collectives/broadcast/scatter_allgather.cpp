// Scatter-allgather broadcast. P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process arrival patterns",
// section 3.3; R. Thakur, R. Rabenseifner and W. Gropp, ANL/MCS-P1140-0304 (binomial scatter, then ring all-gather).
//
// Idea: the root scatters the message, m/n bytes to each rank, down a binomial tree; then the ranks pass the blocks round
// a ring until all have all. Every rank sends about 2m bytes, none more. All must be there before any can finish: an
// implicit synchronisation (Theorem 4: unbounded in the non-blocking model, Omega(n) in the blocking one).
//
// Example, n = 4, root 0, blocks A B C D: scatter: 0->2 {C, D}, 0->1 {B}, 2->3 {D}. Ring, step 1: 0->1 A, 1->2 B, 2->3 C,
// 3->0 D; step 2: 0->1 D, 1->2 A, 2->3 B, 3->0 C; step 3: 0->1 C, 1->2 D, 2->3 A, 3->0 B.
#include <algorithm>
#include <bit>

#include "collectives/broadcast/broadcast.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives {

Task broadcast_scatter_allgather(Operation& op) {
    const int n = op.size();
    if (n == 1) co_return;
    const auto data = op.arguments().data;
    const int v = (op.rank() - op.root() + n) % n;
    const auto actual = [&](int virtual_rank) { return (virtual_rank + op.root()) % n; };
    const std::uint64_t block = (data.size + static_cast<std::uint64_t>(n) - 1) / static_cast<std::uint64_t>(n);
    // Blocks [first, last) of the message; trailing blocks of a short message are empty.
    const auto blocks = [&](int first, int last) {
        const std::uint64_t begin = std::min(data.size, block * static_cast<std::uint64_t>(first));
        const std::uint64_t end = std::min(data.size, block * static_cast<std::uint64_t>(last));
        return runtime::slice(data, begin, end - begin);
    };
    constexpr std::uint64_t kScatter = 0, kRing = 1;

    // Scatter: v is sent the blocks of its subtree [v, v + span).
    int span = static_cast<int>(std::bit_ceil(static_cast<unsigned>(n)));
    if (v > 0) {
        span = v & -v;
        co_await op.receive(actual(v - span), blocks(v, std::min(v + span, n)), kScatter);
    }
    for (int half = span / 2; half > 0; half /= 2)
        if (v + half < n) co_await op.send(actual(v + half), blocks(v + half, std::min(v + 2 * half, n)), kScatter);

    // All-gather: in step i, block v - i goes to the right, block v - i - 1 comes from the left.
    const int right = actual((v + 1) % n), left = actual((v + n - 1) % n);
    for (int i = 0; i + 1 < n; ++i) {
        const int outgoing = (v - i + n) % n, incoming = (v - i - 1 + n) % n;
        const std::uint64_t step = kRing + static_cast<std::uint64_t>(i);
        const auto received = op.receive(left, blocks(incoming, incoming + 1), step);
        const auto sent = op.send(right, blocks(outgoing, outgoing + 1), step);
        co_await received;
        co_await sent;
    }
}

}  // namespace rollcall::collectives
