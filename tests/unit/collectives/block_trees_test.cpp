// Trees for blocks of different sizes against what Träff proves, and against his equations without any table.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "collectives/trees/adaptive.hpp"
#include "collectives/trees/optimal_binary.hpp"
#include "tests/sanitizers.hpp"
#include "tests/unit/collectives/block_trees.hpp"

namespace rollcall::collectives {
namespace {

TEST(BlockTrees, TheExampleOfACompletionTime) {
    BlockTree tree(3);
    tree.connect(1, 0);
    tree.connect(2, 0);
    const BlockSizes sizes = {4, 2, 3};
    const LinearCosts costs{.alpha = 10, .beta = 1, .gamma = 1};
    EXPECT_EQ(completion_time(tree, {.sizes = sizes}, costs), 29);
    tree.node(0).received_before_copy = 2;
    EXPECT_EQ(completion_time(tree, {.sizes = sizes}, costs), 29);
    const std::vector<double> arrivals = {0, 0, 100};
    EXPECT_EQ(completion_time(tree, {.sizes = sizes, .arrivals = arrivals}, costs), 117);
    tree.node(0).received_before_copy = 0;
    // With two ports the copy and the first segment are at the same time, then the second one on the port that is free after 4.
    EXPECT_EQ(completion_time(tree, {.sizes = sizes}, costs, 2), 17);
    EXPECT_EQ(completion_time(tree, {.sizes = sizes}, costs, 3), 13);
    // An empty block is not sent.
    const BlockSizes with_none = {4, 0, 3};
    EXPECT_EQ(completion_time(tree, {.sizes = with_none}, costs), 17);
}

TEST(BlockTrees, WhatIsNoTree) {
    BlockTree circle(3);
    circle.connect(1, 2);
    circle.connect(2, 1);
    EXPECT_FALSE(is_tree(circle));
    BlockTree lost(3);
    lost.connect(1, 0);
    EXPECT_FALSE(is_tree(lost));
    lost.connect(2, 1);
    EXPECT_TRUE(is_tree(lost));
    EXPECT_TRUE(is_ordered(lost));
    BlockTree gap(3);
    gap.connect(2, 0);
    gap.connect(0, 1);
    gap.root = 1;
    EXPECT_TRUE(is_tree(gap));
    EXPECT_FALSE(is_ordered(gap));
    EXPECT_EQ(segment_sizes(gap, BlockSizes{1, 2, 4}), (BlockSizes{5, 7, 4}));
    const std::vector<int> order = {2, 0, 1};
    const BlockTree renamed = in_order(gap, order);
    EXPECT_EQ(renamed.root, 0);
    EXPECT_EQ(renamed.node(2).children, std::vector<int>{1});
    EXPECT_TRUE(is_tree(renamed));
}

TEST(BlockTrees, TheExampleOfTheObliviousTree) {
    const BlockTree tree = oblivious_tree(5, 1);
    EXPECT_EQ(tree.node(0).parent, 1);
    EXPECT_EQ(tree.node(2).parent, 3);
    EXPECT_EQ(tree.node(1).children, (std::vector<int>{0, 3, 4}));
    for (int ranks = 1; ranks <= 40; ++ranks)
        for (int root = -1; root < ranks; ++root) {
            const BlockTree other = oblivious_tree(ranks, root);
            ASSERT_TRUE(is_tree(other) && is_ordered(other)) << ranks << " " << root;
            ASSERT_TRUE(root < 0 || other.root == root);
            ASSERT_TRUE(is_tree(star_tree(ranks, std::max(root, 0))));
        }
}

// Proposition 1.
TEST(BlockTrees, AdaptiveTreesTakeNoMoreThanProved) {
    auto random = seeded_random();
    for (int repetition = 0; repetition < test::repetitions(20'000); ++repetition) {
        const int ranks = 1 + static_cast<int>(random() % 70);
        TreeInstance instance = random_instance(random, ranks, false);
        instance.costs.gamma = instance.costs.beta;
        const double most = std::bit_width(static_cast<unsigned>(ranks - 1)) * instance.costs.alpha +
                            instance.costs.beta * std::accumulate(instance.sizes.begin(), instance.sizes.end(), 0.0);
        const BlockTree tree = adaptive_tree(instance.problem(), instance.costs);
        const double time = completion_time(tree, instance.problem(), instance.costs);
        ASSERT_LE(time, most) << instance.text();
        if (std::has_single_bit(static_cast<unsigned>(ranks)) && *std::min_element(instance.sizes.begin(), instance.sizes.end()) > 0) {
            ASSERT_EQ(ranks == 1 ? most : time, most) << instance.text();
        }
        ASSERT_TRUE(is_tree(tree) && is_ordered(tree));
        // By sizes alone, as ranks build it, it takes as long where no rank is left over in a round.
        const BlockTree by_size = adaptive_tree(instance.sizes);
        ASSERT_TRUE(is_tree(by_size) && is_ordered(by_size));
        if (std::has_single_bit(static_cast<unsigned>(ranks))) {
            ASSERT_LE(completion_time(by_size, instance.problem(), instance.costs), most) << instance.text();
        }
    }
}

// Figure 4 as it is printed. Values that are known are by their first and last rank, the others below 0.
double by_definition(const TreeInstance& instance, int i, int j, int root, std::vector<double>& known) {
    const BlockProblem problem = instance.problem();
    if (i == j) return problem.arrival(i);
    const std::size_t here = static_cast<std::size_t>(i) * instance.sizes.size() + static_cast<std::size_t>(j);
    if (known[here] >= 0) return known[here];
    const auto part = [&](int first, int last) {
        MergedSegment segment{first, last, first, 0, by_definition(instance, first, last, root, known)};
        for (int rank = first; rank <= last; ++rank) segment.size += problem.size(rank);
        return segment;
    };
    double least = std::numeric_limits<double>::infinity();
    for (int k = i; k < j; ++k)
        for (const bool into_left : {false, true}) {
            const MergedSegment left = part(i, k), right = part(k + 1, j);
            if ((into_left ? right : left).contains(root)) continue;  // the root sends nothing
            least = std::min(least, time_to_merge(left, right, into_left, instance.costs));
        }
    return known[here] = least;
}

TEST(BlockTrees, OptimalTreesAreThoseOfTheEquations) {
    auto random = seeded_random();
    for (int repetition = 0; repetition < test::repetitions(600); ++repetition) {
        const int ranks = 1 + static_cast<int>(random() % 34);
        const TreeInstance instance = random_instance(random, ranks, random() % 2);
        OptimalTrees trees(instance.problem(), instance.costs);
        std::vector<double> any(instance.sizes.size() * instance.sizes.size(), -1), given = any;
        // Before or after the others.
        const bool late = random() % 2;
        std::optional<TimedTree> best;
        if (late) best = trees.best();
        const TimedTree with_root = trees.with_root(instance.root);
        if (!best) best = trees.best();
        expect_tree(*best, instance);
        expect_tree(with_root, instance, instance.root);
        EXPECT_EQ(best->time, by_definition(instance, 0, ranks - 1, kAnyRoot, any)) << instance.text();
        EXPECT_EQ(with_root.time, by_definition(instance, 0, ranks - 1, instance.root, given)) << instance.text();
        EXPECT_TRUE(is_ordered(best->tree) && is_ordered(with_root.tree));
        EXPECT_LE(best->time, with_root.time);
        for (const int root : {kAnyRoot, instance.root})
            EXPECT_LE((root < 0 ? best->time : with_root.time),
                      completion_time(adaptive_tree(instance.problem(), instance.costs, root), instance.problem(), instance.costs));
        // Where each rank stands somewhere else.
        std::vector<int> order(static_cast<std::size_t>(ranks));
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        expect_tree(optimal_tree_in_order(instance.problem(), order, instance.costs, instance.root), instance, instance.root);
        if (HasFailure()) return;
    }
}

TEST(BlockTrees, TimesThatAreNoIntegers) {
    auto random = seeded_random();
    for (int repetition = 0; repetition < test::repetitions(100); ++repetition) {
        TreeInstance instance = random_instance(random, 1 + static_cast<int>(random() % 60), true);
        instance.costs = {.alpha = 13.7, .beta = 0.8, .gamma = 0.1};
        for (const int root : {kAnyRoot, instance.root}) {
            const TimedTree tree = optimal_tree(instance.problem(), instance.costs, root);
            ASSERT_TRUE(is_tree(tree.tree));
            ASSERT_NEAR(completion_time(tree.tree, instance.problem(), instance.costs), tree.time, 1e-9 * (1 + tree.time));
        }
    }
}

// Every ordered tree with two children at most, each written out.
double best_binary(const TreeInstance& instance, int i, int j, int given) {
    const BlockProblem problem = instance.problem();
    const LinearCosts& costs = instance.costs;
    if (i > j) return -1;
    if (i == j) return 0;
    const auto take = [&](double ready, int first, int last) {
        double size = 0;
        for (int rank = first; rank <= last; ++rank) size += problem.size(rank);
        return std::max(ready, best_binary(instance, first, last, kAnyRoot)) + costs.transfer(size);
    };
    double least = std::numeric_limits<double>::infinity();
    for (int root = i; root <= j; ++root) {
        if (given != kAnyRoot && root != given) continue;
        const double copy = costs.copy(root, problem.size(root));
        if (i < root && root < j) least = std::min(least, take(take(0, i, root - 1) + copy, root + 1, j));
        if (root == i) {
            least = std::min(least, take(copy, i + 1, j));
            for (int k = i + 1; k < j; ++k) least = std::min(least, take(take(copy, i + 1, k), k + 1, j));
        }
        if (root == j) {
            least = std::min(least, take(0, i, j - 1) + copy);
            for (int k = i; k < j - 1; ++k) least = std::min(least, take(take(0, i, k), k + 1, j - 1) + copy);
        }
    }
    return least;
}

TEST(BlockTrees, OptimalBinaryTreesAreTheBestOnes) {
    auto random = seeded_random();
    for (int repetition = 0; repetition < test::repetitions(150); ++repetition) {
        const int ranks = 1 + static_cast<int>(random() % 7);
        const TreeInstance instance = random_instance(random, ranks, false);
        OptimalBinaryTrees trees(instance.sizes, instance.costs);
        const TimedTree with_root = trees.with_root(instance.root), best = trees.best();
        EXPECT_EQ(best.time, best_binary(instance, 0, ranks - 1, kAnyRoot)) << instance.text();
        EXPECT_EQ(with_root.time, best_binary(instance, 0, ranks - 1, instance.root)) << instance.text();
        expect_tree(best, instance);
        expect_tree(with_root, instance, instance.root);
        for (const BlockTreeNode& node : best.tree.nodes) EXPECT_LE(node.children.size(), 2u);
        EXPECT_TRUE(is_ordered(best.tree));
        if (HasFailure()) return;
    }
    // Rows that are not computed together, against the same ranges with a given root.
    for (int repetition = 0; repetition < 20; ++repetition) {
        const TreeInstance instance = random_instance(random, 20 + static_cast<int>(random() % 30), false);
        OptimalBinaryTrees trees(instance.sizes, instance.costs);
        const TimedTree best = trees.best();
        expect_tree(best, instance);
        OptimalBinaryTrees others(instance.sizes, instance.costs);
        EXPECT_EQ(others.with_root(best.tree.root).time, best.time);
    }
}

}  // namespace
}  // namespace rollcall::collectives
