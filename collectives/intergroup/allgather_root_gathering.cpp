// Root gathering. MPI libraries do it this way, as described by Q. Kang, J. L. Träff, R. Al-Bahrani, A. Agrawal, A. Choudhary and W. Liao,
// "Scalable algorithms for MPI intergroup allgather and allgatherv", Parallel Computing 2019, section 3.1.
//
// Idea: the first rank of each group gathers the blocks of its group. The two first ranks exchange them, and each broadcasts what it got.
// That takes the time of three times the data of the larger group (equation 1). In the sequential form, which is MPICH's, the exchange and
// the broadcast of one direction end before those of the other direction begin, and a broadcast is a scatter and a ring: M + 3 p kA + 3 q
// kB (equation 2). Blocks of different sizes go straight to the first rank.
//
// Example: p = q = 2, a block takes 1. a1->a0 and b1->b0 until 1, a0<->b0 until 3, a0->a1 and b0->b1 until 5. Sequential: a0->b0 until 3.
// b0 and b1 have the data at 5 (a half goes to b1, and in the ring another half goes each way at the same time). b0->a0 until 7. a0 and a1
// have the data at 9.
#include <optional>
#include <vector>

#include "collectives/intergroup/full_duplex.hpp"
#include "collectives/intergroup/intergroup.hpp"
#include "collectives/intergroup/sides.hpp"

namespace rollcall::collectives {
namespace {

constexpr std::uint64_t kGather = kStepsForSizes, kAcross = kGather + 1, kBroadcast = kAcross + 1;

struct Gathered {
    Sides sides;
    BothBlocks blocks;
    std::optional<Assembled> data;
    std::optional<Scratch> own;  ///< At the first rank of a group: all blocks of the group.
};

/// The blocks have been found.
Task gather_in_group(Operation& op, Gathered& state) {
    const auto contribution = op.arguments().contribution;
    const auto& [sides, blocks, data, own] = state;
    state.data.emplace(op, blocks.other);
    state.own.emplace(sides.member == 0 ? blocks.own.total() : 0, contribution);
    if (sides.member == 0) co_await op.copy(runtime::slice(own->bytes(), 0, contribution.size), contribution);
    if (!op.call().own_sizes) {
        co_await gather_up(op, sides.own, sides.member, blocks.own, contribution, own->bytes(), kGather);
    } else if (sides.member > 0) {  // without a tree: one that ignores sizes could forward the largest blocks
        if (contribution.size > 0) co_await op.send(sides.own.rank(0), contribution, kGather);
    } else {
        std::vector<Pending> receiving;
        for (int member = 1; member < sides.own.size; ++member)
            if (const Range its = blocks.own[member]; !its.empty())
                receiving.push_back(op.receive(sides.own.rank(member), runtime::slice(own->bytes(), its.begin, its.size()), kGather));
        co_await op.all_of(receiving);
    }
}

/// All members of the group but the first.
Members all_but_first(const Members& group) { return {.first = group.rank(1 % group.size), .size = group.size - 1}; }

}  // namespace

Task gather_all_root_gathering(Operation& op, const Sides& its_sides, const BothBlocks& its_blocks) {
    Gathered state{its_sides, its_blocks, {}, {}};
    co_await gather_in_group(op, state);
    const auto& [sides, blocks, data, own] = state;
    if (sides.member == 0) {
        const auto received = op.receive(sides.other.rank(0), data->bytes(), kAcross);
        co_await op.send(sides.other.rank(0), own->bytes(), kAcross);
        co_await received;
    }
    co_await broadcast_to(op, sides.own.rank(0), all_but_first(sides.own), data->bytes(), kBroadcast);
    co_await place_blocks(op, *data, blocks.other);
}

Task intergroup_allgather_root_gathering(Operation& op) {
    const Sides sides = sides_of(op);
    BothBlocks blocks;
    co_await find_blocks(op, sides, blocks);
    co_await gather_all_root_gathering(op, sides, blocks);
}

Task intergroup_allgather_root_gathering_sequential(Operation& op) {
    Gathered state{sides_of(op), {}, {}, {}};
    co_await find_blocks(op, state.sides, state.blocks);
    co_await gather_in_group(op, state);
    const auto& [sides, blocks, data, own] = state;
    const bool is_first = sides.own.first == 0;
    // The first group sends first, and then receives. The second group does it the other way round.
    for (const bool sends : {is_first, !is_first}) {
        if (sends) {
            if (sides.member == 0) co_await op.send(sides.other.rank(0), own->bytes(), kAcross);
            continue;
        }
        if (sides.member == 0) co_await op.receive(sides.other.rank(0), data->bytes(), kAcross);
        if (blocks.other.total() <= kShortBroadcast)
            co_await broadcast_to(op, sides.own.rank(0), all_but_first(sides.own), data->bytes(), kBroadcast);
        else
            co_await scatter_and_gather_all(op, sides.own, sides.member, data->bytes(), kBroadcast);
    }
    co_await place_blocks(op, *data, blocks.other);
}

}  // namespace rollcall::collectives
