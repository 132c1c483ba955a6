#include "collectives/two_level/levels.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "collectives/published/published_parts.hpp"
#include "collectives/selection.hpp"
#include "collectives/two_level/passed_on.hpp"

namespace rollcall::collectives {

Levels::Levels(const Operation& op) : rank_(op.rank()), nodes_(op.nodes()) {
    if (nodes_) return;
    one_node_.of.resize(static_cast<std::size_t>(op.size()));
    one_node_.members.emplace_back(static_cast<std::size_t>(op.size()));
    std::iota(one_node_.members[0].begin(), one_node_.members[0].end(), 0);
}

int Levels::place() const {
    const std::vector<int>& ranks = here();
    return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank_) - ranks.begin());
}

int Levels::fewest() const {
    std::size_t least = members()[0].size();
    for (const std::vector<int>& ranks : members()) least = std::min(least, ranks.size());
    return static_cast<int>(least);
}

int Levels::most() const {
    std::size_t most = 0;
    for (const std::vector<int>& ranks : members()) most = std::max(most, ranks.size());
    return static_cast<int>(most);
}

bool Levels::is_in_rank_order() const { return std::is_sorted(all().of.begin(), all().of.end()); }

std::vector<int> Levels::at_place(int place) const {
    std::vector<int> ranks;
    for (const std::vector<int>& node : members()) ranks.push_back(node[static_cast<std::size_t>(place)]);
    return ranks;
}

std::vector<int> Levels::leaders(int root) const {
    std::vector<int> ranks = at_place(0);
    ranks[static_cast<std::size_t>(node_of(root))] = root;
    return ranks;
}

std::uint64_t blocks_of_its_node(std::uint64_t bytes, int root, int rank, const runtime::Nodes* nodes) {
    if (!nodes || root < 0) return 0;
    const auto node_of = [&](int which) { return nodes->of[static_cast<std::size_t>(which)]; };
    const std::vector<int>& here = nodes->members[static_cast<std::size_t>(node_of(rank))];
    const bool passes_on = node_of(rank) != node_of(root) && here.size() > 1 && here.front() == rank;
    return passes_on ? bytes * here.size() : 0;
}

runtime::Algorithm between_nodes(OperationKind kind, const Operation& op, std::uint64_t bytes, int ranks) {
    const Conditions has = conditions_of(op.arguments().combiner, kUsual);
    return select(kind, {.bytes = bytes, .ranks = ranks, .has = has, .costs = &op.costs()}).entry->algorithm;
}

std::uint64_t chain_between_nodes(const Operation& op, std::uint64_t bytes, int ranks) {
    return cost::chain_segment(scene_of(op.costs(), bytes, ranks, false, 0));
}

Lanes::Lanes(const Operation& op, int count) {
    for (int number = 0; number < count; ++number) shares.push_back(share_of(op, number, count));
}

Task combine_on_node(Operation& op, const std::vector<int>& here, int place, const Lanes& lanes, transport::Bytes own,
                     runtime::InPlace in_place) {
    const runtime::Arguments arguments = op.arguments();
    const auto contribution = arguments.contribution;
    if (here.size() == 1) {
        co_await copy_own(op, own, lanes.part(contribution, place));
        co_return;
    }
    const Among node(op, here, place, 0, arguments);
    PublishedParts parts{.brought = [&](int other) { return lanes.part(contribution, other); }, .own = own, .in_place = in_place};
    co_await combine_published_parts(op, std::move(parts));
}

}  // namespace rollcall::collectives
