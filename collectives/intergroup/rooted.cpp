// Operations between a root in one group and all ranks of the other group. MPI: A Message-Passing Interface Standard 4.1, section 6.2.3.
//
// Idea: they are the operations of one group that consists of the root and the ranks of the other group. A broadcast goes down a tree or a
// chain of these ranks. A scatter and a gather are linear, so that no rank waits for a rank that only forwards. In a scatter the blocks
// leave one after the other, because all of them share the root's port. Where they cannot land early, a late rank stops all ranks that come
// after it. A reduce combines up a tree in rank order, and the root of the tree sends the result across. The other ranks of the root's group
// do nothing.
//
// Example: root a1, q = 3, a message takes 1. Broadcast: a1->b0 until 1, a1->b1 and b0->b2 until 2. Reduce: b1->b0 until 1, b2->b0 until 2,
// b0->a1 until 3.
#include "collectives/intergroup/rooted.hpp"

#include <vector>

#include "collectives/combining/combining.hpp"
#include "collectives/intergroup/intergroup.hpp"

namespace rollcall::collectives {

Task intergroup_broadcast_binomial(Operation& op) {
    const RootedPart part(op);
    if (part.takes_part()) co_await broadcast_down_tree(op, op.root(), part.others, op.arguments().data, 0);
}

Task intergroup_broadcast_pipelined(Operation& op) {
    const RootedPart part(op);
    if (part.takes_part()) co_await broadcast_down_chain(op, op.root(), part.others, op.arguments().data, 0);
}

Task intergroup_scatter_linear(Operation& op) {
    const RootedPart part(op);
    if (part.is_other) co_await op.receive(op.root(), op.arguments().result, 0);
    if (!part.is_root) co_return;
    for (int member = 0; member < part.others.size; ++member) co_await op.send_in_turn(part.others.rank(member), block_of(op, member), 0);
}

Task intergroup_gather_linear(Operation& op) {
    const RootedPart part(op);
    if (part.is_other) co_await op.send(op.root(), op.arguments().contribution, 0);
    if (!part.is_root) co_return;
    std::vector<Pending> receiving;
    for (int member = 0; member < part.others.size; ++member)
        receiving.push_back(op.receive(part.others.rank(member), block_of(op, member), 0));
    co_await op.all_of(receiving);
}

Task intergroup_reduce_binomial(Operation& op) {
    constexpr std::uint64_t kUp = 0, kAcross = 1;
    const RootedPart part(op);
    if (part.is_root) co_await op.receive(part.others.rank(0), op.arguments().data, kAcross);
    if (!part.is_other) co_return;
    const auto contribution = op.arguments().contribution;
    const bool is_top = part.sides.member == 0;
    const Scratch combined(is_top ? contribution.size : 0, contribution);
    co_await combine_up_tree(op, part.others, part.sides.member, combined.bytes(), kUp);
    if (is_top) co_await op.send(op.root(), combined.bytes(), kAcross);
}

}  // namespace rollcall::collectives
