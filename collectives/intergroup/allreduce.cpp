// Allreduce between two groups. MPI: A Message-Passing Interface Standard 4.1, section 6.2.3.
//
// Idea: each group combines its elements up a tree in rank order. The roots of the two trees exchange the results, and each broadcasts what
// it got: down a tree, or in pieces down a chain.
//
// Example: p = 2, q = 1, a message takes 1. a1->a0 until 1, a0<->b0 until 2, a0->a1 until 3.
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
    co_await combine_up_tree(op, sides.own, sides.member, is_top ? combined.bytes() : op.arguments().data, kUp);
    if (is_top) {
        const auto received = op.receive(sides.other.rank(0), op.arguments().data, kAcross);
        co_await op.send(sides.other.rank(0), combined.bytes(), kAcross);
        co_await received;
    }
    const Members others{.first = sides.own.first + 1, .size = sides.own.size - 1};
    co_await broadcast_to(op, sides.own.rank(0), others, op.arguments().data, kDown);
}

}  // namespace rollcall::collectives
