// Allgather between two groups of blocks of different sizes on several nodes. It is our own.
//
// Idea: before the call nobody knows the sizes of the blocks of its own group, so no rule can compare estimates. But both `full_duplex` and
// `two_level` begin by telling all ranks all sizes. After that all ranks compare the estimates of the two, for as many blocks of the mean
// size of the group that has more data, and go on by the one that takes less time.
//
// Example: blocks that have few bytes together go by two levels, with one message for each pair of nodes. If one rank has a long block, the
// data goes round the rings of full_duplex.
#include <algorithm>

#include "collectives/costs/costs.hpp"
#include "collectives/intergroup/full_duplex.hpp"
#include "collectives/intergroup/intergroup.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {
namespace {

/// The answer is the same on all ranks, because each of them knows both groups.
bool two_levels_pay(const Operation& op, const Sides& sides, const BothBlocks& blocks) {
    const int ranks = std::max(sides.own.size, sides.other.size);
    const std::uint64_t mean = std::max(blocks.own.total(), blocks.other.total()) / static_cast<std::uint64_t>(ranks);
    if (mean > kLongestBetweenGroupsOnTwoLevels) return false;
    const auto nodes_of = [&](const Members& group) { return Levels(op, ranks_of(group), -1).nodes(); };
    Scene scene = scene_of(op.costs(), mean, op.size(), false, Levels(op).nodes());
    scene.ranks_of_group = ranks;
    scene.nodes_of_group = std::max(nodes_of(sides.own), nodes_of(sides.other));
    return cost::is_less(cost::intergroup_two_level(scene), cost::intergroup_full_duplex(scene));
}

}  // namespace

Task intergroup_allgather_by_sizes(Operation& op) {
    const Sides sides = sides_of(op);
    BothBlocks blocks;
    co_await find_blocks(op, sides, blocks);
    if (two_levels_pay(op, sides, blocks))
        co_await gather_all_two_level(op, sides, blocks);
    else
        co_await gather_all_full_duplex(op, sides, blocks);
}

}  // namespace rollcall::collectives
