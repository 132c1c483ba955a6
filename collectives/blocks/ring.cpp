#include "collectives/blocks/ring.hpp"

namespace rollcall::collectives {

using transport::Bytes;
using transport::ConstBytes;

runtime::Task combine_around_ring(runtime::Operation& op, int first, RingBlocks blocks) {
    const int n = op.size(), right = (op.rank() + 1) % n, left = (op.rank() + n - 1) % n;
    const auto numbered = [n](int number) { return (number % n + n) % n; };
    ConstBytes outgoing = blocks.brought(numbered(first));
    for (int i = 0; i + 1 < n; ++i) {
        const int number = numbered(first - i - 1);
        const auto step = static_cast<std::uint64_t>(i);
        const ConstBytes own = blocks.brought(number);
        const Bytes come = runtime::slice(blocks.room[step % 2], 0, own.size);
        const auto receiving = op.receive(left, come, step);
        const auto sent = op.send(right, outgoing, step);
        co_await receiving;
        const Bytes into = blocks.combined(number, come);
        co_await op.combine(into, come, own);
        co_await sent;
        outgoing = into;
    }
}

}  // namespace rollcall::collectives
