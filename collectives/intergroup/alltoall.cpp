// Alltoall between two groups. MPI: A Message-Passing Interface Standard 4.1, section 6.2.3.
//
// Idea: each rank of a group sends a block to each rank of the other group. It begins with the rank of its own number, so that not all
// ranks begin with the same one. If blocks are long, this is done in as many rounds as the larger group has ranks, one after the other. In
// each round a rank sends to at most one rank, and receives from at most one, so that no two blocks share a port. A block does not land
// before its round, for the same reason. A late rank stops the ranks whose turn it is to exchange with it, and soon all ranks, also those
// of its own group.
//
// Example: p = 2, q = 1, a message takes 1. In rounds or not: a0<->b0 until 1, a1<->b0 until 2.
#include <algorithm>
#include <vector>

#include "collectives/intergroup/intergroup.hpp"
#include "collectives/intergroup/sides.hpp"

namespace rollcall::collectives {
namespace {

/// The block that belongs to a member of the other group.
template <class Bytes>
Bytes block_of_member(const Sides& sides, Bytes all, const runtime::Block* places, int member) {
    if (places) return runtime::slice(all, places[member].offset, places[member].size);
    const std::uint64_t size = all.size / static_cast<std::uint64_t>(sides.other.size);
    return runtime::slice(all, size * static_cast<std::uint64_t>(member), size);
}
transport::Bytes block_from(const Operation& op, const Sides& sides, int member) {
    return block_of_member(sides, op.arguments().data, op.arguments().blocks, member);
}
transport::ConstBytes block_to(const Operation& op, const Sides& sides, int member) {
    return block_of_member(sides, op.arguments().contribution, op.arguments().contribution_blocks, member);
}

}  // namespace

Task intergroup_alltoall_linear(Operation& op) {
    const Sides sides = sides_of(op);
    std::vector<Pending> transfers;
    const auto receive = [&](int member) { transfers.push_back(op.receive(sides.other.rank(member), block_from(op, sides, member), 0)); };
    std::vector<int> landed;  // What is here is only to be copied, for which no other rank waits: last.
    for (int i = 0; i < sides.other.size; ++i) {
        const int member = (sides.member + i) % sides.other.size;
        if (op.has_landed(sides.other.rank(member), 0))
            landed.push_back(member);
        else
            receive(member);
        transfers.push_back(op.send(sides.other.rank(member), block_to(op, sides, member), 0));
    }
    std::ranges::for_each(landed, receive);
    co_await op.all_of(transfers);
}

Task intergroup_alltoall_pairwise(Operation& op) {
    const Sides sides = sides_of(op);
    const int rounds = std::max(sides.own.size, sides.other.size);
    for (int i = 0; i < rounds; ++i) {
        const int to = (sides.member + i) % rounds, from = (sides.member + rounds - i) % rounds;
        Pending received, sent;
        if (from < sides.other.size) received = op.receive(sides.other.rank(from), block_from(op, sides, from), 0);
        if (to < sides.other.size) sent = op.send_awaited(sides.other.rank(to), block_to(op, sides, to), 0);
        co_await received;
        co_await sent;
    }
}

}  // namespace rollcall::collectives
