#include "collectives/two_level/levels.hpp"

#include <algorithm>
#include <utility>

#include "collectives/published/published.hpp"
#include "collectives/published/published_parts.hpp"
#include "collectives/selection.hpp"
#include "collectives/two_level/passed_on.hpp"

namespace rollcall::collectives {
namespace {

/// The nodes of these members of the communicator, in the order of their first ones.
template <class Member>
runtime::Nodes nodes_of(const Operation& op, int count, Member member) {
    const runtime::Nodes* const all = op.nodes();
    runtime::Nodes some;
    std::vector<int> numbers(all ? all->members.size() : 1, -1);
    some.of.reserve(static_cast<std::size_t>(count));
    for (int place = 0; place < count; ++place) {
        const std::size_t node = all ? static_cast<std::size_t>(all->of[static_cast<std::size_t>(member(place))]) : 0;
        int& number = numbers[node];
        if (number < 0) {
            number = static_cast<int>(some.members.size());
            some.members.emplace_back().reserve(all ? all->members[node].size() : static_cast<std::size_t>(count));
        }
        some.of.push_back(number);
        some.members[static_cast<std::size_t>(number)].push_back(place);
    }
    return some;
}

/// The rank that collects the blocks of a rank's node for a root, and how many blocks it passes on: none on the root's own node.
struct Collected {
    int leader;
    std::uint64_t blocks;
};
Collected collected_on_node(int root, int rank, const runtime::Group& group) {
    const runtime::Nodes* const nodes = group.nodes.get();
    if (!nodes || root < 0) return {rank, 0};
    const auto node_of = [&](int which) { return nodes->of[static_cast<std::size_t>(which)]; };
    if (node_of(rank) == node_of(root)) return {root, 0};
    // Between two groups, those of the root's group that are on the node have no part.
    const auto has_block = [&](int which) { return group.first_group == 0 || (which < group.first_group) != (root < group.first_group); };
    const std::vector<int>& here = nodes->members[static_cast<std::size_t>(node_of(rank))];
    const auto first = std::find_if(here.begin(), here.end(), has_block);
    if (first == here.end()) return {rank, 0};
    return {*first, static_cast<std::uint64_t>(std::count_if(first, here.end(), has_block))};
}

}  // namespace

NodeSizes sizes_of(const runtime::Nodes& nodes) {
    const auto [fewest, most] = std::minmax_element(nodes.members.begin(), nodes.members.end(),
                                                    [](const auto& one, const auto& other) { return one.size() < other.size(); });
    return {static_cast<int>(fewest->size()), static_cast<int>(most->size())};
}

Levels::Levels(const Operation& op) : rank_(op.rank()), nodes_(op.is_among_some() ? nullptr : op.nodes()) {
    if (nodes_) return;
    of_some_ = nodes_of(op, op.size(), [&](int rank) { return op.member(rank); });
}

Levels::Levels(const Operation& op, std::span<const int> ranks, int own)
    : rank_(own),
      nodes_(nullptr),
      of_some_(nodes_of(op, static_cast<int>(ranks.size()), [&](int place) { return ranks[static_cast<std::size_t>(place)]; })) {}

int Levels::place_of(int rank) const {
    const std::vector<int>& ranks = here();
    return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
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

std::uint64_t blocks_of_its_node(std::uint64_t bytes, int root, int rank, const runtime::Group& group) {
    const auto [leader, blocks] = collected_on_node(root, rank, group);
    return blocks > 1 && leader == rank ? bytes * blocks : 0;
}

bool has_another_leader(std::uint64_t, int root, int rank, const runtime::Group& group) {
    return rank != root && collected_on_node(root, rank, group).leader != rank;
}

runtime::Algorithm between_nodes(OperationKind kind, const Operation& op, std::uint64_t bytes, int ranks) {
    const Conditions has = conditions_of(op.arguments().combiner, kUsual);
    return select(kind, {.bytes = bytes, .ranks = ranks, .has = has, .costs = &op.costs()}).entry->algorithm;
}

Lanes::Lanes(const Operation& op, int count) {
    for (int number = 0; number < count; ++number) shares.push_back(share_of(op, number, count));
}

Task share_with_node(Operation& op, const Levels& levels, const Lanes& lanes, runtime::Arguments arguments) {
    const auto data = arguments.data;
    std::vector<runtime::Block> blocks;
    for (std::size_t place = 0; place < levels.here().size(); ++place)
        blocks.push_back(place < lanes.shares.size() ? runtime::Block{lanes.shares[place].begin, lanes.shares[place].size()}
                                                     : runtime::Block{0, 0});
    arguments.contribution = lanes.part(data, levels.place());
    arguments.blocks = blocks.data();
    const Among node(op, levels.here(), levels.place(), 0, arguments, kResultSteps);
    if (lanes.count() > 1)
        co_await publish_and_copy(op, true, &same_for_all);
    else if (op.rank() == 0)
        co_await publish_all(op, kEverybody, data);
    else
        co_await copy_all(op, 0, true, data);
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
