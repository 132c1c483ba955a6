#include "collectives/combining.hpp"

namespace rollcall::collectives {

using transport::Bytes;
using transport::ConstBytes;

Task combine_up_tree(Operation& op, int top, Bytes data, std::uint64_t step) {
    const int n = op.size();
    const int v = (op.rank() - top + n) % n;
    const ConstBytes contribution = op.arguments().contribution;
    ConstBytes combined = contribution;
    std::optional<Scratch> received, result;
    int distance = 1;
    for (; distance < n && !(v & distance); distance *= 2) {
        if (v + distance >= n) continue;
        if (!received) {
            received.emplace(contribution.size, contribution);
            if (v > 0) result.emplace(contribution.size, contribution);
        }
        co_await op.receive((op.rank() + distance) % n, received->bytes(), step);
        const Bytes into = v > 0 ? result->bytes() : data;
        co_await op.combine(into, combined, received->bytes());
        combined = into;
    }
    if (v > 0)
        co_await op.send((op.rank() - distance + n) % n, combined, step);
    else if (n == 1)
        co_await copy_own(op, data, contribution);
}

InRankOrder::InRankOrder(Operation& op) : op_(op), into_(op.arguments().data) {
    const runtime::Arguments& arguments = op.arguments();
    if (op.rank() == 0 || !arguments.data.data || arguments.contribution.data != arguments.data.data) return;
    scratch_.emplace(arguments.data.size, arguments.data);
    into_ = scratch_->bytes();
}

}  // namespace rollcall::collectives
