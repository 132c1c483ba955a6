// Allgather between two groups of blocks of different sizes. It is our own.
//
// Idea: before the call nobody knows the sizes of the blocks of its own group, so no rule can compare estimates. But `full_duplex`,
// `two_level` and `root_gathering` all begin by telling all ranks all sizes. After that all ranks compare the estimates of the three, for
// blocks of the mean size, and go on by the one that takes the least time. The mean is the data of the group that has more, divided by the
// number of ranks of the larger group.
//
// Example: 2 ranks bring 20 bytes together, and the 4 ranks of the other group 120 bytes. The mean is 120 / 4 = 30 bytes. Blocks that have
// few bytes together go by two levels, with one message for each pair of nodes, or up and down two trees. If one rank has a long block, the
// data goes round the rings of full_duplex.
#include <algorithm>

#include "collectives/costs/costs.hpp"
#include "collectives/intergroup/full_duplex.hpp"
#include "collectives/intergroup/intergroup.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {
namespace {

using GatherAll = Task (*)(Operation& op, const Sides& sides, const BothBlocks& blocks);

/// The answer is the same on all ranks, because each of them knows both groups.
GatherAll fastest(const Operation& op, const Sides& sides, const BothBlocks& blocks) {
    const int ranks = std::max(sides.own.size, sides.other.size);
    const std::uint64_t mean = std::max(blocks.own.total(), blocks.other.total()) / static_cast<std::uint64_t>(ranks);
    const auto nodes_of = [&](const Members& group) { return Levels(op, ranks_of(group), -1).nodes(); };
    const bool on_nodes = op.nodes() != nullptr;
    CostInput cost_input = cost_input_of(op.costs(), mean, op.size(), false, on_nodes ? Levels(op).nodes() : 0);
    cost_input.ranks_of_group = ranks;
    if (on_nodes) cost_input.nodes_of_group = std::max(nodes_of(sides.own), nodes_of(sides.other));
    const auto is_faster = [&](cost::Estimate one, cost::Estimate other) { return cost::is_less(one(cost_input), other(cost_input)); };
    // As the rules for blocks of one size, but for short blocks of many ranks: here ranks learn the sizes first, which takes as long.
    if (on_nodes && mean <= kLongestBetweenGroupsOnTwoLevels && !is_faster(&cost::intergroup_root_gathering, &cost::intergroup_two_level) &&
        !is_faster(&cost::intergroup_full_duplex, &cost::intergroup_two_level))
        return &gather_all_two_level;
    return is_faster(&cost::intergroup_root_gathering, &cost::intergroup_full_duplex) ? &gather_all_root_gathering
                                                                                      : &gather_all_full_duplex;
}

}  // namespace

Task intergroup_allgather_by_sizes(Operation& op) {
    const Sides sides = sides_of(op);
    BothBlocks blocks;
    co_await find_blocks(op, sides, blocks);
    co_await fastest(op, sides, blocks)(op, sides, blocks);
}

}  // namespace rollcall::collectives
