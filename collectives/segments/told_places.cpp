#include "collectives/segments/told_places.hpp"

#include <algorithm>
#include <numeric>

#include "collectives/arrivals/foresight.hpp"
#include "collectives/arrivals/roster.hpp"
#include "collectives/segments/found_places.hpp"
#include "collectives/segments/tree_costs.hpp"
#include "collectives/trees/binomial.hpp"
#include "collectives/trees/optimal.hpp"
#include "collectives/trees/unordered.hpp"

namespace rollcall::collectives {
namespace {

struct TreeWord {
    std::uint64_t size;  ///< The size that the root counts for the rank.
    std::int16_t parent, turn, position;
    std::int16_t unused = 0;
};
static_assert(sizeof(TreeWord) == 16, "it travels: without padding");
using TreeWords = std::vector<TreeWord>;

std::vector<int> ranks_in_order(int ranks) {
    std::vector<int> order(static_cast<std::size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    return order;
}

std::vector<int> positions_of(std::span<const int> order) {
    std::vector<int> positions(order.size());
    for (std::size_t position = 0; position < order.size(); ++position)
        positions[static_cast<std::size_t>(order[position])] = static_cast<int>(position);
    return positions;
}

TreeWords words_of(const SegmentTree& chosen, std::span<const std::uint64_t> sizes) {
    TreeWords words(sizes.size());
    const std::vector<int> positions = positions_of(chosen.order);
    for (int rank = 0; rank < chosen.tree.ranks(); ++rank) {
        TreeWord& word = words[static_cast<std::size_t>(rank)];
        word.size = sizes[static_cast<std::size_t>(rank)];
        word.parent = static_cast<std::int16_t>(chosen.tree.node(rank).parent);
        word.position = static_cast<std::int16_t>(positions[static_cast<std::size_t>(rank)]);
        std::int16_t turn = 0;
        for (const int child : chosen.tree.node(rank).children) words[static_cast<std::size_t>(child)].turn = turn++;
    }
    return words;
}

SegmentTree tree_of(const TreeWords& words) {
    SegmentTree chosen{.tree = BlockTree(static_cast<int>(words.size())), .order = std::vector<int>(words.size())};
    for (int rank = 0; rank < chosen.tree.ranks(); ++rank) {
        const TreeWord& word = words[static_cast<std::size_t>(rank)];
        chosen.order[static_cast<std::size_t>(word.position)] = rank;
        chosen.tree.node(rank).parent = word.parent;
        if (word.parent < 0) {
            chosen.tree.root = rank;
            continue;
        }
        auto& children = chosen.tree.node(word.parent).children;
        children.resize(std::max(children.size(), static_cast<std::size_t>(word.turn) + 1));
        children[static_cast<std::size_t>(word.turn)] = rank;
    }
    return chosen;
}

LinearCosts costs_of(const Operation& op) { return tree_costs(op.costs()); }

std::vector<std::uint64_t> sizes_at_root(const Operation& op) {
    std::vector<std::uint64_t> sizes;
    for (int rank = 0; rank < op.size(); ++rank) sizes.push_back(block_of(op, rank).size);
    return sizes;
}

/// Passes the words of the root on, and takes this rank's place from them. Until they come, `announces`: this rank tells the root when it
/// arrives. All ranks are told if the root counts another size for this rank.
Task pass_on(Operation& op, TreeWords& words, bool announces, SegmentPlace& place) {
    const transport::Bytes message{words.data(), words.size() * sizeof(TreeWord)};
    const TreePlace way = binomial_tree(op.size(), op.root(), op.rank());
    if (op.rank() != op.root()) {
        const Pending receiving = op.receive(way.parent, message, kTree);
        if (announces) co_await announce_to_root(op, &receiving);
        co_await receiving;
    }
    const std::uint64_t counted = words[static_cast<std::size_t>(op.rank())].size;
    if (counted != own_size(op)) {
        op.tell_sizes_differ(op.root(), counted, own_size(op));
        co_await op.failure();
    }
    std::vector<Pending> passing;
    for (const int child : way.children) passing.push_back(op.send(child, message, kTree));
    std::vector<std::uint64_t> sizes;
    for (const TreeWord& word : words) sizes.push_back(word.size);
    place = place_in(tree_of(words), sizes, op.rank());
    co_await op.all_of(passing);
}

Task told_place(Operation& op, int most_ranks, SegmentTree (*choose)(const BlockProblem&, const LinearCosts&, int), SegmentPlace& place) {
    if (op.size() > most_ranks) {
        co_await adaptive_place(op, place);
        co_return;
    }
    TreeWords words(static_cast<std::size_t>(op.size()));
    if (op.rank() == op.root()) {
        const auto sizes = sizes_at_root(op);
        words = words_of(choose({.sizes = sizes}, costs_of(op), op.root()), sizes);
    }
    co_await pass_on(op, words, false, place);
}

/// At the root: the words for the arrivals that are known now.
Task predict_words(Operation& op, TreeWords& words) {
    const auto sizes = sizes_at_root(op);
    std::vector<Nanoseconds> times(sizes.size());
    if (op.size() > 1) co_await decide_arrivals(op, times);
    times[static_cast<std::size_t>(op.rank())] = 0;  // the root receives before its caller arrives
    const std::vector<double> arrivals(times.begin(), times.end());
    words = words_of(best_sorted_tree({.sizes = sizes, .arrivals = arrivals}, costs_of(op), op.root()), sizes);
}

}  // namespace

SegmentTree best_segment_tree(const BlockProblem& problem, const LinearCosts& costs, int root) {
    return {optimal_tree(problem, costs, root).tree, ranks_in_order(problem.ranks())};
}

SegmentTree best_sorted_tree(const BlockProblem& problem, const LinearCosts& costs, int root) {
    std::vector<int> order = ranks_in_order(problem.ranks());
    TimedTree best = optimal_tree(problem, costs, root);
    double all = 0;
    for (int rank = 0; rank < problem.ranks(); ++rank) all += problem.size(rank);
    double limit = best.time - costs.copy(root, all);
    const auto try_order_by = [&](auto key) {
        std::vector<int> sorted = ranks_in_order(problem.ranks());
        std::stable_sort(sorted.begin(), sorted.end(), [&](int one, int other) {
            return other != root && (one == root || key(one) < key(other));  // what stands far from the root is received last
        });
        TimedTree found = optimal_tree_in_order(problem, sorted, costs, root);
        if (found.time >= limit) return;
        limit = found.time;
        best = std::move(found);
        order = std::move(sorted);
    };
    try_order_by([&](int rank) { return -problem.size(rank); });
    const auto arrivals = problem.arrivals;
    if (std::adjacent_find(arrivals.begin(), arrivals.end(), std::not_equal_to<>()) != arrivals.end())
        try_order_by([&](int rank) { return problem.arrival(rank); });
    return {std::move(best.tree), std::move(order)};
}

SegmentTree two_part_segment_tree(const BlockProblem& problem, const LinearCosts& costs, int root) {
    return best_two_part_tree(problem, large_from(problem.sizes), costs, root);
}

Task optimal_place(Operation& op, SegmentPlace& place) { co_await told_place(op, kMostOptimalRanks, &best_segment_tree, place); }

Task sorted_optimal_place(Operation& op, SegmentPlace& place) { co_await told_place(op, kMostOptimalRanks, &best_sorted_tree, place); }

Task two_part_place(Operation& op, SegmentPlace& place) { co_await told_place(op, kMostToldRanks, &two_part_segment_tree, place); }

Task kept_place(Operation& op, Task (*find)(Operation&, SegmentPlace&), std::shared_ptr<const SegmentPlace>& place) {
    std::optional<std::shared_ptr<void>>& kept = op.communicator().kept;
    if (!kept || !*kept) {
        auto found = std::make_shared<SegmentPlace>();
        co_await find(op, *found);
        place = found;
        if (kept) *kept = std::move(found);
        co_return;
    }
    place = std::static_pointer_cast<const SegmentPlace>(*kept);
}

Task predicted_place(Operation& op, SegmentPlace& place) {
    if (op.size() > kMostOptimalRanks) {
        co_await adaptive_place(op, place);
        co_return;
    }
    TreeWords words(static_cast<std::size_t>(op.size()));
    if (op.rank() == op.root()) co_await predict_words(op, words);
    co_await pass_on(op, words, true, place);
}

SegmentPlace place_in(const SegmentTree& chosen, std::span<const std::uint64_t> sizes, int rank) {
    const BlockTree& tree = chosen.tree;
    const std::vector<int> positions = positions_of(chosen.order);
    std::vector<int> first = positions, last = positions;
    for (const int each : children_first(tree)) {
        const auto at = static_cast<std::size_t>(each);
        for (const int child : tree.node(each).children) {
            first[at] = std::min(first[at], first[static_cast<std::size_t>(child)]);
            last[at] = std::max(last[at], last[static_cast<std::size_t>(child)]);
        }
    }
    const auto segments = segment_sizes(tree, sizes);
    SegmentPlace place;
    place.parent = tree.node(rank).parent;
    place.position = positions[static_cast<std::size_t>(rank)];
    place.own = sizes[static_cast<std::size_t>(rank)];
    for (const int child : tree.node(rank).children) {
        const auto at = static_cast<std::size_t>(child);
        place.children.push_back({child, first[at], last[at], segments[at]});
    }
    if (place.parent < 0) place.order = chosen.order;
    return place;
}

}  // namespace rollcall::collectives
