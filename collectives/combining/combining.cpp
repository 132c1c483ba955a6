#include "collectives/combining/combining.hpp"

namespace rollcall::collectives {

using transport::Bytes;
using transport::ConstBytes;

Task combine_up_tree(Operation& op, const Members& members, int member, Bytes data, std::uint64_t step) {
    const int n = members.size;
    const ConstBytes contribution = op.arguments().contribution;
    const std::uint64_t size = contribution.size;
    const bool has_room = data.size >= 2 * size;
    ConstBytes combined = contribution;
    Bytes into = has_room ? runtime::slice(data, 0, size) : data, received = has_room ? runtime::slice(data, size, size) : Bytes();
    std::optional<Scratch> scratch, result;
    int distance = 1;
    for (; distance < n && !(member & distance); distance *= 2) {
        if (member + distance >= n) continue;
        if (!has_room && !scratch) {
            received = scratch.emplace(size, contribution).bytes();
            if (data.size < size) into = result.emplace(size, contribution).bytes();
        }
        co_await op.receive(members.rank(member + distance), received, step);
        co_await op.combine(into, combined, received);
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
