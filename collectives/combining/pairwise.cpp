#include "collectives/combining/pairwise.hpp"

#include <algorithm>
#include <array>

#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {
namespace {

/// The largest number of messages that are under way in each direction.
constexpr int kWindow = 4;

}  // namespace

Task combine_pairwise(Operation& op, std::function<transport::ConstBytes(int rank)> brought, transport::Bytes own, std::uint64_t step) {
    const int n = op.size(), rank = op.rank();
    const Scratch received(own.size * static_cast<std::uint64_t>(std::min(n - 1, kWindow)), own);
    const Scratch above(rank + 1 < n ? own.size : 0, own);
    const auto slot = [&](int distance) {
        return runtime::slice(received.bytes(), own.size * static_cast<std::uint64_t>((distance - 1) % kWindow), own.size);
    };
    std::array<Pending, kWindow> incoming, outgoing;
    transport::ConstBytes below = brought(rank);
    int posted = 1;
    for (int distance = 1; distance < n; ++distance) {
        const auto number = static_cast<std::size_t>(distance % kWindow);
        for (; posted < std::min(n, distance + kWindow); ++posted)
            incoming[static_cast<std::size_t>(posted % kWindow)] = op.receive((rank - posted + n) % n, slot(posted), step);
        co_await outgoing[number];
        const int to = (rank + distance) % n;
        outgoing[number] = op.send(to, brought(to), step);
        co_await incoming[number];
        if (distance <= rank) {
            co_await op.combine(own, slot(distance), below);
            below = own;
        } else if (distance == rank + 1) {
            co_await op.copy(above.bytes(), slot(distance));
        } else {
            co_await op.combine(above.bytes(), slot(distance), above.bytes());
        }
    }
    if (rank + 1 < n)
        co_await op.combine(own, below, above.bytes());
    else if (n == 1)
        co_await copy_own(op, own, below);
    for (Pending& pending : outgoing) co_await pending;
}

}  // namespace rollcall::collectives
