// Pairwise exchange. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH", International
// Journal of High Performance Computing Applications 2005, the section on reduce-scatter. (There it is for operands that commute.)
//
// Idea: in step i, rank r sends to rank r + i its elements of that rank's block, and receives from rank r - i that rank's elements of its
// own block. There are P - 1 steps, and in each one every rank sends a block and receives one. No rank forwards, so a late rank delays only
// what it contributes. The operands that come from r - 1 down to 0 are combined to the left of what is there. Those that come then, from P
// - 1 down to r + 1, are combined in memory of their own, and join the rest at the end. So rank order is kept.
//
// Example: P = 4, rank 1; a, b, c, d are what the ranks 0 to 3 contribute to its block; a message takes 1. a comes until 1 (a + b), d until
// 2, c until 3 (c + d). Then a + b and c + d are combined.
#include <algorithm>
#include <array>

#include "collectives/reduce_scatter/reduce_scatter.hpp"

namespace rollcall::collectives {
namespace {

using transport::Bytes;
using transport::ConstBytes;

/// The largest number of messages that are under way in each direction.
constexpr int kWindow = 4;

}  // namespace

Task reduce_scatter_pairwise(Operation& op) {
    const int n = op.size(), rank = op.rank();
    const auto data = op.arguments().data;
    const Scratch received(data.size * static_cast<std::uint64_t>(std::min(n - 1, kWindow)), data);
    const Scratch above(rank + 1 < n ? data.size : 0, data);
    const auto slot = [&](int step) {
        return runtime::slice(received.bytes(), data.size * static_cast<std::uint64_t>((step - 1) % kWindow), data.size);
    };
    std::array<Pending, kWindow> incoming, outgoing;
    ConstBytes below = brought_for(op, rank);
    int posted = 1;
    for (int step = 1; step < n; ++step) {
        const auto number = static_cast<std::size_t>(step % kWindow);
        for (; posted < std::min(n, step + kWindow); ++posted)
            incoming[static_cast<std::size_t>(posted % kWindow)] = op.receive((rank - posted + n) % n, slot(posted), 0);
        co_await outgoing[number];
        const int to = (rank + step) % n;
        outgoing[number] = op.send(to, brought_for(op, to), 0);
        co_await incoming[number];
        if (step <= rank) {
            co_await op.combine(data, slot(step), below);
            below = data;
        } else if (step == rank + 1) {
            co_await op.copy(above.bytes(), slot(step));
        } else {
            co_await op.combine(above.bytes(), slot(step), above.bytes());
        }
    }
    if (rank + 1 < n)
        co_await op.combine(data, below, above.bytes());
    else if (n == 1)
        co_await copy_own(op, data, below);
    for (Pending& pending : outgoing) co_await pending;
}

}  // namespace rollcall::collectives
