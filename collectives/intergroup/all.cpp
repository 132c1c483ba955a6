// Allreduce and alltoall between two groups. MPI: A Message-Passing Interface Standard 4.1, section 6.2.3.
//
// Idea: for an allreduce, each group combines its elements up a tree in rank order. The roots of the two trees exchange the results, and
// each broadcasts what it got. In an alltoall, each rank of a group sends a block to each rank of the other group. It begins with the rank
// of its own number, so that not all ranks begin with the same one.
//
// Example: p = 2, q = 1, a message takes 1. Allreduce: a1->a0 until 1, a0<->b0 until 2, a0->a1 until 3. Alltoall: a0<->b0 until 1, a1<->b0
// until 2.
#include <vector>

#include "collectives/combining/combining.hpp"
#include "collectives/intergroup/intergroup.hpp"
#include "collectives/intergroup/sides.hpp"

namespace rollcall::collectives {

Task intergroup_allreduce_reduce_then_broadcast(Operation& op) {
    constexpr std::uint64_t kUp = 0, kAcross = 1, kDown = 2;
    const Sides sides = sides_of(op);
    const auto contribution = op.arguments().contribution;
    const bool is_top = sides.member == 0;
    const Scratch combined(is_top ? contribution.size : 0, contribution);
    co_await combine_up_tree(op, sides.own, sides.member, combined.bytes(), kUp);
    if (is_top) {
        const auto received = op.receive(sides.other.rank(0), op.arguments().data, kAcross);
        co_await op.send(sides.other.rank(0), combined.bytes(), kAcross);
        co_await received;
    }
    const Members others{.first = sides.own.first + 1, .size = sides.own.size - 1};
    co_await broadcast_to(op, sides.own.rank(0), others, op.arguments().data, kDown);
}

Task intergroup_alltoall_linear(Operation& op) {
    const Sides sides = sides_of(op);
    const auto data = op.arguments().data;
    const auto contribution = op.arguments().contribution;
    const auto others = static_cast<std::uint64_t>(sides.other.size);
    const auto part = [&](auto all, const runtime::Block* places, int member) {
        if (places) return runtime::slice(all, places[member].offset, places[member].size);
        return runtime::slice(all, all.size / others * static_cast<std::uint64_t>(member), all.size / others);
    };
    std::vector<Pending> transfers;
    for (int i = 0; i < sides.other.size; ++i) {
        const int member = (sides.member + i) % sides.other.size;
        transfers.push_back(op.receive(sides.other.rank(member), part(data, op.arguments().blocks, member), 0));
        transfers.push_back(op.send(sides.other.rank(member), part(contribution, op.arguments().contribution_blocks, member), 0));
    }
    co_await op.all_of(transfers);
}

}  // namespace rollcall::collectives
