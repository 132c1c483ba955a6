#include "collectives/combining/combining.hpp"

namespace rollcall::collectives {

using transport::Bytes;
using transport::ConstBytes;

Task combine_up_tree(Operation& op, const Members& members, int member, Bytes data, std::uint64_t step) {
    const int n = members.size;
    const ConstBytes contribution = op.arguments().contribution;
    ConstBytes combined = contribution;
    std::optional<Scratch> received, result;
    int distance = 1;
    for (; distance < n && !(member & distance); distance *= 2) {
        if (member + distance >= n) continue;
        if (!received) {
            received.emplace(contribution.size, contribution);
            if (member > 0) result.emplace(contribution.size, contribution);
        }
        co_await op.receive(members.rank(member + distance), received->bytes(), step);
        const Bytes into = member > 0 ? result->bytes() : data;
        co_await op.combine(into, combined, received->bytes());
        combined = into;
    }
    if (member > 0)
        co_await op.send(members.rank(member - distance), combined, step);
    else if (n == 1)
        co_await copy_own(op, data, contribution);
}

Task combine_up_tree(Operation& op, int top, Bytes data, std::uint64_t step) {
    const int n = op.size();
    co_await combine_up_tree(op, Members{.size = n, .shift = top}, (op.rank() - top + n) % n, data, step);
}

Parts even_parts(const Operation& op, int shares) {
    Parts parts;
    for (int number = 0; number < shares; ++number) parts.add(share_of(op, number, shares).size());
    return parts;
}

InRankOrder::InRankOrder(Operation& op) : op_(op), into_(op.arguments().data) {
    const runtime::Arguments& arguments = op.arguments();
    if (op.rank() == 0 || !arguments.data.data || arguments.contribution.data != arguments.data.data) return;
    scratch_.emplace(arguments.data.size, arguments.data);
    into_ = scratch_->bytes();
}

}  // namespace rollcall::collectives
