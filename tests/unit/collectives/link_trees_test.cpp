// Trees where each link has its own costs, and those of broadcasts and reductions.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "collectives/trees/optimal_links.hpp"
#include "tests/sanitizers.hpp"
#include "tests/unit/collectives/block_trees.hpp"

namespace rollcall::collectives {
namespace {

TEST(LinkTrees, LinksThatAreEqualGiveTheSame) {
    auto random = seeded_random();
    for (int repetition = 0; repetition < test::repetitions(150); ++repetition) {
        const int ranks = 1 + static_cast<int>(random() % 12);
        const TreeInstance instance = random_instance(random, ranks, random() % 2);
        const std::size_t n = instance.sizes.size();
        const LinkCosts links{.ranks = ranks,
                              .alpha = std::vector<double>(n * n, instance.costs.alpha),
                              .beta = std::vector<double>(n * n, instance.costs.beta),
                              .gamma = std::vector<double>(n, instance.costs.gamma)};
        for (const int root : {kAnyRoot, instance.root}) {
            const TimedTree tree = optimal_tree(instance.problem(), links, root);
            EXPECT_EQ(tree.time, optimal_tree(instance.problem(), instance.costs, root).time) << instance.text();
            expect_tree(tree, instance, root == kAnyRoot ? std::optional<int>() : root);
        }
    }
}

// As Figure 5 says it, by recursion.
double by_links(const BlockProblem& problem, const LinkCosts& costs, int i, int j, int root) {
    if (i == j) return problem.arrival(i);
    double least = std::numeric_limits<double>::infinity();
    const auto size = [&](int first, int last) {
        double sum = 0;
        for (int rank = first; rank <= last; ++rank) sum += problem.size(rank);
        return sum;
    };
    for (int k = i; k < j; ++k) {
        const bool into_left = root <= k;
        const auto [own_first, own_last] = into_left ? std::pair(i, k) : std::pair(k + 1, j);
        const auto [first, last] = into_left ? std::pair(k + 1, j) : std::pair(i, k);
        const double copy = own_first == own_last ? costs.copy(root, problem.size(root)) : 0;
        const double own = by_links(problem, costs, own_first, own_last, root) + (into_left ? copy : 0);
        for (int from = first; from <= last; ++from)
            least = std::min(least, std::max(own, by_links(problem, costs, first, last, from)) +
                                        costs.transfer(from, root, size(first, last)) + (into_left ? 0 : copy));
    }
    return least;
}

LinkCosts random_links(std::mt19937_64& random, int ranks) {
    LinkCosts links{.ranks = ranks, .alpha = {}, .beta = {}, .gamma = {}};
    for (int i = 0; i < ranks * ranks; ++i) {
        links.alpha.push_back(static_cast<double>(random() % 50));
        links.beta.push_back(static_cast<double>(1 + random() % 5));
    }
    for (int i = 0; i < ranks; ++i) links.gamma.push_back(static_cast<double>(random() % 2));
    return links;
}

TEST(LinkTrees, LinksThatDiffer) {
    auto random = seeded_random();
    for (int repetition = 0; repetition < test::repetitions(200); ++repetition) {
        const int ranks = 1 + static_cast<int>(random() % 6);
        const TreeInstance instance = random_instance(random, ranks, random() % 2);
        const LinkCosts links = random_links(random, ranks);
        const TimedTree best = optimal_tree(instance.problem(), links);
        for (int root = 0; root < ranks; ++root) {
            const TimedTree tree = optimal_tree(instance.problem(), links, root);
            EXPECT_EQ(tree.time, by_links(instance.problem(), links, 0, ranks - 1, root));
            EXPECT_EQ(completion_time(tree.tree, instance.problem(), links), tree.time);
            EXPECT_TRUE(is_tree(tree.tree) && is_ordered(tree.tree) && tree.tree.root == root);
            EXPECT_LE(best.time, tree.time);
        }
        if (HasFailure()) return;
    }
}

// Theorem 4: between equal links as many rounds as a binomial tree has, with any root.
TEST(LinkTrees, BroadcastsAndReductions) {
    auto random = seeded_random();
    const LinearCosts costs{.alpha = 7, .beta = 2, .gamma = 1};
    for (int ranks = 1; ranks <= 33; ++ranks) {
        const BlockSizes ones(static_cast<std::size_t>(ranks), 1);
        const double rounds = std::bit_width(static_cast<unsigned>(ranks - 1));
        const TimedTree tree = optimal_tree({.sizes = ones}, costs_of_message(costs, 100));
        EXPECT_EQ(tree.time, rounds * 207);
        EXPECT_TRUE(is_tree(tree.tree) && is_ordered(tree.tree));
        EXPECT_EQ(optimal_tree({.sizes = ones}, costs_of_message(costs, 0)).time, 0);
    }
    for (int repetition = 0; repetition < 50; ++repetition) {
        const int ranks = 1 + static_cast<int>(random() % 7);
        const BlockSizes ones(static_cast<std::size_t>(ranks), 1);
        const LinkCosts links = random_links(random, ranks), message = costs_of_message(links, 10);
        const int root = static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
        const TimedTree tree = optimal_tree({.sizes = ones}, message, root);
        EXPECT_EQ(tree.time, by_links({.sizes = ones}, message, 0, ranks - 1, root));
        EXPECT_EQ(completion_time(tree.tree, {.sizes = ones}, message), tree.time);
    }
}

}  // namespace
}  // namespace rollcall::collectives
