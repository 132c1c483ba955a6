#include "collectives/trees/unordered.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "collectives/trees/adaptive.hpp"
#include "collectives/trees/completion.hpp"
#include "collectives/trees/part.hpp"

namespace rollcall::collectives {
namespace {

using Ranks = std::uint32_t;  // a set: one bit for each rank

class SetTrees {
  public:
    SetTrees(const BlockProblem& problem, const LinearCosts& costs)
        : problem_(problem),
          costs_(costs),
          n_(static_cast<std::size_t>(problem.ranks())),
          sums_(sets()),
          best_(sets()),
          times_(sets() * n_) {
        for (Ranks set = 1; set < sets(); ++set) {
            const int lowest = std::countr_zero(set);
            sums_[set] = sums_[set & (set - 1)] + problem.size(lowest);
            best_[set] = std::numeric_limits<double>::infinity();
            for_ranks(set, [&](int root) {
                double time = std::has_single_bit(set) ? problem.arrival(root) : std::numeric_limits<double>::infinity();
                for_last_segments(set, root, [&](Ranks, double with) { time = std::min(time, with); });
                at(set, root) = time;
                best_[set] = std::min(best_[set], time);
            });
        }
    }

    double& at(Ranks set, int root) { return times_[set * n_ + static_cast<std::size_t>(root)]; }

    int best_root(Ranks set) {
        int best = std::countr_zero(set);
        for_ranks(set, [&](int root) {
            if (at(set, root) < at(set, best)) best = root;
        });
        return best;
    }

    void build(Ranks set, int root, BlockTree& tree) {
        if (std::has_single_bit(set)) return;
        Ranks last = 0;
        double least = std::numeric_limits<double>::infinity();
        for_last_segments(set, root, [&](Ranks part, double time) {
            if (time >= least) return;
            least = time;
            last = part;
        });
        build(set & ~last, root, tree);
        const int from = best_root(last);
        build(last, from, tree);
        tree.connect(from, root);
    }

  private:
    std::size_t sets() const { return std::size_t{1} << n_; }
    template <class Take>
    static void for_ranks(Ranks set, Take take) {
        for (Ranks rest = set; rest; rest &= rest - 1) take(std::countr_zero(rest));
    }
    // The last segment that the root receives may consist of any of the other ranks. If it consists of all of them, the root has copied its
    // own block meanwhile.
    template <class Take>
    void for_last_segments(Ranks set, int root, Take take) {
        const Ranks others = set & ~(Ranks{1} << root);
        for (Ranks last = others; last; last = (last - 1) & others) {
            const double alone = problem_.arrival(root) + costs_.copy(root, problem_.size(root));
            const double before = last == others ? alone : at(set & ~last, root);
            take(last, std::max(before, best_[last]) + costs_.transfer(sums_[last]));
        }
    }

    const BlockProblem& problem_;
    const LinearCosts& costs_;
    const std::size_t n_;
    std::vector<double> sums_, best_, times_;
};

// Adds an adaptive tree over these ranks, and returns its root.
int add_part(const BlockProblem& problem, const std::vector<int>& ranks, const LinearCosts& costs, int root, BlockTree& tree) {
    const ProblemPart part(problem, ranks);
    return tree.add_part(adaptive_tree(part.problem(), costs, part.place_of(root)), ranks);
}

constexpr std::uint64_t kNothingStraight = std::numeric_limits<std::uint64_t>::max();

/// The ranks of the two trees, and those whose blocks go straight to the root.
struct SizeParts {
    std::vector<int> small, large, straight;
};

/// `in_large` is with the large blocks, whatever the size of its own block. The block of `never_straight` does not go straight.
SizeParts parts_of(const BlockProblem& problem, std::uint64_t large, std::uint64_t straight_from, int in_large,
                   int never_straight = kAnyRoot) {
    SizeParts parts;
    for (int rank = 0; rank < problem.ranks(); ++rank) {
        const std::uint64_t size = problem.sizes[static_cast<std::size_t>(rank)];
        if (size >= straight_from && size > 0 && rank != never_straight)
            parts.straight.push_back(rank);
        else
            (size < large && rank != in_large ? parts.small : parts.large).push_back(rank);
    }
    return parts;
}

std::vector<int> order_of(const SizeParts& parts) {
    std::vector<int> order = parts.small;
    order.insert(order.end(), parts.large.begin(), parts.large.end());
    order.insert(order.end(), parts.straight.begin(), parts.straight.end());
    return order;
}

/// `root` is in one of the two trees.
BlockTree tree_of(const SizeParts& parts, const BlockProblem& problem, const LinearCosts& costs, int root) {
    BlockTree tree(problem.ranks());
    if (parts.small.empty() || parts.large.empty()) {
        tree.root = add_part(problem, parts.small.empty() ? parts.large : parts.small, costs, root, tree);
    } else {
        const auto bytes = [&](const std::vector<int>& ranks) {
            std::uint64_t sum = 0;
            for (const int rank : ranks) sum += problem.sizes[static_cast<std::size_t>(rank)];
            return sum;
        };
        const int small_root = add_part(problem, parts.small, costs, root, tree),
                  large_root = add_part(problem, parts.large, costs, root, tree);
        const bool to_large = root == kAnyRoot ? bytes(parts.small) <= bytes(parts.large) : large_root == root;
        tree.root = to_large ? large_root : small_root;
        tree.connect(to_large ? small_root : large_root, tree.root);
    }
    // They are received while the trees below the root still collect.
    auto& children = tree.node(tree.root).children;
    children.insert(children.begin(), parts.straight.begin(), parts.straight.end());
    for (const int rank : parts.straight) tree.node(rank).parent = tree.root;
    return tree;
}

}  // namespace

TimedTree best_unordered_tree(const BlockProblem& problem, const LinearCosts& costs, int root) {
    const int n = problem.ranks();
    if (n > kMostUnorderedRanks)
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("the best unordered tree of {} ranks; allowed: up to {} ranks, for each rank makes its cost three times as large",
                        n, kMostUnorderedRanks));
    SetTrees trees(problem, costs);
    const Ranks all = (Ranks{1} << n) - 1;
    TimedTree result{BlockTree(n), 0};
    result.tree.root = root == kAnyRoot ? trees.best_root(all) : root;
    result.time = trees.at(all, result.tree.root);
    trees.build(all, result.tree.root, result.tree);
    return result;
}

std::uint64_t large_from(std::span<const std::uint64_t> sizes) {
    std::vector<std::uint64_t> sorted(sizes.begin(), sizes.end());
    std::sort(sorted.begin(), sorted.end());
    std::uint64_t large = 0;
    double largest_ratio = 1;
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        const double ratio = static_cast<double>(sorted[i]) / static_cast<double>(std::max<std::uint64_t>(sorted[i - 1], 1));
        if (ratio <= largest_ratio) continue;
        largest_ratio = ratio;
        large = sorted[i];
    }
    return large;
}

BlockTree two_part_tree(const BlockProblem& problem, std::uint64_t large, const LinearCosts& costs, int root) {
    return tree_of(parts_of(problem, large, kNothingStraight, kAnyRoot), problem, costs, root);
}

SegmentTree best_two_part_tree(const BlockProblem& problem, std::uint64_t large, const LinearCosts& costs, int root) {
    const SizeParts usual = parts_of(problem, large, kNothingStraight, kAnyRoot);
    SegmentTree best{tree_of(usual, problem, costs, root), order_of(usual)};
    double least = completion_time(best.tree, problem, costs);
    const int its_root = best.tree.root;
    const double too_large = costs.beta > 0 ? kStraightMessages * costs.alpha / costs.beta : 0;
    const std::uint64_t alone = too_large < 0x1p63 ? std::max(large, static_cast<std::uint64_t>(std::ceil(too_large))) : kNothingStraight;
    for (const std::uint64_t straight : {kNothingStraight, alone, large})
        for (const int in_large : {kAnyRoot, its_root}) {
            const SizeParts parts = parts_of(problem, large, straight, in_large, its_root);
            BlockTree tree = tree_of(parts, problem, costs, its_root);
            const double time = completion_time(tree, problem, costs);
            if (time >= least) continue;
            least = time;
            best = {std::move(tree), order_of(parts)};
        }
    return best;
}

}  // namespace rollcall::collectives
