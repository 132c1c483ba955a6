#include "collectives/segments/told_places.hpp"

#include <algorithm>
#include <numeric>

#include "collectives/arrivals/foresight.hpp"
#include "collectives/arrivals/roster.hpp"
#include "collectives/segments/found_places.hpp"
#include "collectives/segments/tree_costs.hpp"
#include "collectives/trees/halving.hpp"
#include "collectives/trees/optimal.hpp"
#include "collectives/trees/unordered.hpp"

namespace rollcall::collectives {
namespace {

/// What the root tells a rank: a word of the rank itself, and then one of each of its children in the tree of segments.
struct TreeWord {
    std::uint64_t bytes;    ///< The size that the root counts for the rank; of a child: that of its segment.
    std::int16_t rank;      ///< The parent; the child.
    std::int16_t first;     ///< The rank's position; the first position of the child's segment.
    std::int16_t last;      ///< In the first word of a message: the words of a second one; the last position of the child's segment.
    std::int16_t children;  ///< How many words of children follow.
};
static_assert(sizeof(TreeWord) == 16, "it travels: without padding");
using TreeWords = std::vector<TreeWord>;

/// How many words a message for `ranks` of n ranks has, because its receiver must know its size. A tree has one word less than two for each
/// rank. Some more are for a rank with many children, and there are never more than those of all ranks without the root and its first
/// child. What does not fit comes in a second message.
std::size_t usual_words(const Operation& op, int ranks) {
    constexpr int kMore = 8;
    return static_cast<std::size_t>(std::min(2 * ranks + kMore, 2 * op.size() - 3));
}

transport::Bytes bytes_of(std::span<TreeWord> words) { return {words.data(), words.size_bytes()}; }

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

/// The places of all ranks in a tree.
class PlacesInTree {
  public:
    PlacesInTree(const SegmentTree& chosen, std::span<const std::uint64_t> sizes)
        : chosen_(chosen),
          sizes_(sizes),
          positions_(positions_of(chosen.order)),
          first_(positions_),
          last_(positions_),
          segments_(segment_sizes(chosen.tree, sizes)) {
        for (const int each : children_first(chosen.tree)) {
            const auto at = static_cast<std::size_t>(each);
            for (const int child : chosen.tree.node(each).children) {
                first_[at] = std::min(first_[at], first_[static_cast<std::size_t>(child)]);
                last_[at] = std::max(last_[at], last_[static_cast<std::size_t>(child)]);
            }
        }
    }

    SegmentPlace of(int rank) const {
        SegmentPlace place;
        place.parent = chosen_.tree.node(rank).parent;
        place.position = positions_[static_cast<std::size_t>(rank)];
        place.own = sizes_[static_cast<std::size_t>(rank)];
        for (const int child : chosen_.tree.node(rank).children) {
            const auto at = static_cast<std::size_t>(child);
            place.children.push_back({child, first_[at], last_[at], segments_[at]});
        }
        if (place.parent < 0) place.order = chosen_.order;
        return place;
    }

  private:
    const SegmentTree& chosen_;
    std::span<const std::uint64_t> sizes_;
    std::vector<int> positions_, first_, last_;
    std::vector<std::uint64_t> segments_;
};

/// The words of all ranks, from the root on. The root gets its own place.
TreeWords words_of(const SegmentTree& chosen, std::span<const std::uint64_t> sizes, SegmentPlace& own) {
    const PlacesInTree places(chosen, sizes);
    const int n = chosen.tree.ranks(), root = chosen.tree.root;
    own = places.of(root);
    TreeWords words;
    words.reserve(2 * sizes.size());
    const auto as_word = [](auto number) { return static_cast<std::int16_t>(number); };
    for (int distance = 0; distance < n; ++distance) {
        const SegmentPlace place = places.of((root + distance) % n);
        words.push_back({place.own, as_word(place.parent), as_word(place.position), 0, as_word(place.children.size())});
        for (const auto& child : place.children)
            words.push_back({child.bytes, as_word(child.rank), as_word(child.first), as_word(child.last), 0});
    }
    return words;
}

SegmentPlace place_from(std::span<const TreeWord> words) {
    const TreeWord& own = words.front();
    SegmentPlace place;
    place.parent = own.rank;
    place.position = own.first;
    place.own = own.bytes;
    for (const TreeWord& child : words.subspan(1, static_cast<std::size_t>(own.children)))
        place.children.push_back({child.rank, child.first, child.last, child.bytes});
    return place;
}

LinearCosts costs_of(const Operation& op) { return tree_costs(op.costs()); }

std::vector<std::uint64_t> sizes_at_root(const Operation& op) {
    std::vector<std::uint64_t> sizes;
    for (int rank = 0; rank < op.size(); ++rank) sizes.push_back(block_of(op, rank).size);
    return sizes;
}

/// The words of the next `ranks` ranks, which begin at `at`. Afterwards `at` is behind them.
TreeWords take_words(std::span<const TreeWord> words, std::size_t& at, int ranks) {
    const std::size_t begin = at;
    for (int rank = 0; rank < ranks; ++rank) at += 1 + static_cast<std::size_t>(words[at].children);
    return {words.begin() + static_cast<std::ptrdiff_t>(begin), words.begin() + static_cast<std::ptrdiff_t>(at)};
}

/// Sends a rank the words of the `ranks` ranks from it on.
void tell_child(Operation& op, int to, TreeWords& words, int ranks, std::vector<Pending>& sending) {
    const std::size_t usual = usual_words(op, ranks);
    words.resize(std::max(words.size(), usual));
    words.front().last = static_cast<std::int16_t>(words.size() - usual);
    sending.push_back(op.send(to, bytes_of(std::span(words).first(usual)), kTree));
    if (words.size() > usual) sending.push_back(op.send(to, bytes_of(std::span(words).subspan(usual)), kRestOfTree));
}

/// Takes this rank's place from the words of the root, and passes on those of the ranks below it in the halving tree. Until they come,
/// `announces`: this rank tells the root when it arrives. All ranks are told if the root counts another size for this rank.
Task pass_on(Operation& op, TreeWords& words, bool announces, SegmentPlace& place) {
    const HalvingPlace way = halving_place(op.size(), op.root(), op.rank());
    if (op.rank() != op.root()) {
        const std::size_t usual = usual_words(op, way.blocks);
        words.resize(usual);
        const Pending receiving = op.receive(way.parent, bytes_of(words), kTree);
        if (announces) co_await announce_to_root(op, &receiving);
        co_await receiving;
        if (const auto more = static_cast<std::size_t>(words.front().last); more > 0) {
            words.resize(usual + more);
            co_await op.receive(way.parent, bytes_of(std::span(words).subspan(usual)), kRestOfTree);
        }
        place = place_from(words);
    }
    if (place.own != own_size(op)) {
        op.tell_sizes_differ(op.root(), place.own, own_size(op));
        co_await op.failure();
    }
    // The child with the farthest ranks has the most ranks below it. So it is told first, though its words come last.
    std::vector<TreeWords> theirs(way.children.size());
    std::size_t at = 1 + static_cast<std::size_t>(words.front().children);
    for (std::size_t i = theirs.size(); i-- > 0;) theirs[i] = take_words(words, at, way.children[i].blocks);
    std::vector<Pending> passing;
    for (std::size_t i = 0; i < theirs.size(); ++i) tell_child(op, way.children[i].rank, theirs[i], way.children[i].blocks, passing);
    co_await op.all_of(passing);
}

Task told_place(Operation& op, int most_ranks, SegmentTree (*choose)(const BlockProblem&, const LinearCosts&, int), SegmentPlace& place) {
    if (op.size() > most_ranks) {
        co_await adaptive_place(op, place);
        co_return;
    }
    TreeWords words;
    if (op.rank() == op.root()) {
        const auto sizes = sizes_at_root(op);
        words = words_of(choose({.sizes = sizes}, costs_of(op), op.root()), sizes, place);
    }
    co_await pass_on(op, words, false, place);
}

/// At the root: the words for the arrivals that are known now.
Task predict_words(Operation& op, TreeWords& words, SegmentPlace& own) {
    const auto sizes = sizes_at_root(op);
    std::vector<Nanoseconds> times(sizes.size());
    if (op.size() > 1) co_await decide_arrivals(op, times);
    times[static_cast<std::size_t>(op.rank())] = 0;  // the root receives before its caller arrives
    const std::vector<double> arrivals(times.begin(), times.end());
    words = words_of(best_sorted_tree({.sizes = sizes, .arrivals = arrivals}, costs_of(op), op.root()), sizes, own);
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
    TreeWords words;
    if (op.rank() == op.root()) co_await predict_words(op, words, place);
    co_await pass_on(op, words, true, place);
}

SegmentPlace place_in(const SegmentTree& chosen, std::span<const std::uint64_t> sizes, int rank) {
    return PlacesInTree(chosen, sizes).of(rank);
}

}  // namespace rollcall::collectives
