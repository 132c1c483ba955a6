// Trees that are not in the order of ranks, and what order costs: against every tree there is, and the examples of Träff.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "bench/cases/block_sizes.hpp"
#include "collectives/segments/tree_costs.hpp"
#include "collectives/trees/adaptive.hpp"
#include "collectives/trees/completion.hpp"
#include "collectives/trees/unordered.hpp"
#include "tests/sanitizers.hpp"
#include "tests/unit/collectives/block_trees.hpp"

namespace rollcall::collectives {
namespace {

// Every tree, with its children and its copy in every order.
void for_every_tree(int ranks, const std::function<void(const BlockTree&)>& take) {
    BlockTree tree(ranks);
    std::vector<int> parent(static_cast<std::size_t>(ranks));
    const std::function<void(int)> orders = [&](int rank) {
        if (rank == ranks) return take(tree);
        auto& children = tree.node(rank).children;
        std::sort(children.begin(), children.end());
        do {
            for (int copy = 0; copy <= static_cast<int>(children.size()); ++copy) {
                tree.node(rank).received_before_copy = copy;
                orders(rank + 1);
            }
        } while (std::next_permutation(children.begin(), children.end()));
    };
    const std::function<void(int)> parents = [&](int rank) {
        if (rank < ranks) {
            for (int other = -1; other < ranks; ++other) {
                parent[static_cast<std::size_t>(rank)] = other;
                parents(rank + 1);
            }
            return;
        }
        if (std::count(parent.begin(), parent.end(), -1) != 1) return;
        tree = BlockTree(ranks);
        for (int from = 0; from < ranks; ++from) {
            const int to = parent[static_cast<std::size_t>(from)];
            if (to < 0)
                tree.root = from;
            else
                tree.connect(from, to);
        }
        if (is_tree(tree)) orders(0);
    };
    parents(0);
}

TEST(UnorderedTrees, NoTreeIsBetterThanTheBestUnorderedOne) {
    auto random = seeded_random();
    for (int ranks = 1; ranks <= 5; ++ranks) {
        std::vector<TreeInstance> instances;
        for (int i = 0; i < (ranks < 5 ? 20 : 6); ++i) instances.push_back(random_instance(random, ranks, i % 2));
        std::vector<double> any(instances.size(), std::numeric_limits<double>::infinity()), given = any;
        std::size_t trees = 0;
        for_every_tree(ranks, [&](const BlockTree& tree) {
            ++trees;
            for (std::size_t i = 0; i < instances.size(); ++i) {
                const double time = completion_time(tree, instances[i].problem(), instances[i].costs);
                any[i] = std::min(any[i], time);
                if (tree.root == instances[i].root) given[i] = std::min(given[i], time);
            }
        });
        // The leaves' only place for a copy counts once.
        EXPECT_EQ(trees, (std::array<std::size_t, 6>{0, 1, 4, 42, 720, 17160}[static_cast<std::size_t>(ranks)])) << ranks;
        for (std::size_t i = 0; i < instances.size(); ++i) {
            const TimedTree best = best_unordered_tree(instances[i].problem(), instances[i].costs);
            const TimedTree with_root = best_unordered_tree(instances[i].problem(), instances[i].costs, instances[i].root);
            EXPECT_EQ(best.time, any[i]) << instances[i].text();
            EXPECT_EQ(with_root.time, given[i]) << instances[i].text();
            expect_tree(best, instances[i]);
            expect_tree(with_root, instances[i], instances[i].root);
        }
    }
}

TEST(UnorderedTrees, OrderCostsSomething) {
    auto random = seeded_random();
    for (int repetition = 0; repetition < test::repetitions(100); ++repetition) {
        const TreeInstance instance = random_instance(random, 1 + static_cast<int>(random() % 9), random() % 2);
        for (const int root : {kAnyRoot, instance.root}) {
            const double ordered = optimal_tree(instance.problem(), instance.costs, root).time;
            EXPECT_LE(best_unordered_tree(instance.problem(), instance.costs, root).time, ordered) << instance.text();
        }
    }
    const BlockSizes many(static_cast<std::size_t>(kMostUnorderedRanks) + 1, 1);
    EXPECT_ANY_THROW(best_unordered_tree({.sizes = many}, {}));
}

// Section 4, with integers: 2, 3, 3, 3, 4, 4, 4, 6, 6, 13 can be parted into two halves.
TEST(UnorderedTrees, ThePartitionOfThePaper) {
    BlockSizes sizes;
    for (const std::uint64_t size : {2, 3, 3, 3, 4, 4, 4, 6, 6, 13}) sizes.push_back(10 * size + 1);
    sizes.push_back(240);
    sizes.push_back(250);
    const BlockProblem problem{.sizes = sizes};
    const LinearCosts costs{.alpha = 1, .beta = 1, .gamma = 1};
    EXPECT_EQ(best_unordered_tree(problem, costs).time, 982);
    EXPECT_EQ(optimal_tree(problem, costs).time, 983);
    EXPECT_EQ(completion_time(adaptive_tree(problem, costs), problem, costs), 983);
    // 9 times 2, and 4, cannot: 2pm + 2p + 2 = 462 is not reached.
    BlockSizes odd(9, 2 * 10 + 1);
    odd.insert(odd.end(), {4 * 10 + 1, 110, 120});
    EXPECT_EQ(best_unordered_tree({.sizes = odd}, costs).time, 463);
}

TEST(UnorderedTrees, TwoSizesOfLemma2) {
    const LinearCosts costs{.alpha = 5, .beta = 1, .gamma = 1};
    for (int large = 0; large < 9; ++large) {
        BlockSizes sizes(9, 3);
        sizes[static_cast<std::size_t>(large)] = 200;
        const BlockProblem problem{.sizes = sizes};
        const BlockTree tree = two_part_tree(problem, 200, costs);
        EXPECT_TRUE(is_tree(tree));
        EXPECT_EQ(tree.root, large);
        EXPECT_EQ(completion_time(tree, problem, costs), 229);
        EXPECT_EQ(completion_time(two_part_tree(problem, 200, costs, large), problem, costs), 229);
        EXPECT_EQ(best_unordered_tree(problem, costs).time, 229);
        // Ordered only where the large block stands first: its copy is then made while the others collect.
        EXPECT_EQ(optimal_tree(problem, costs).time, large == 0 ? 229 : 234);
    }
    BlockSizes middle(9, 3);
    middle[4] = 200;
    EXPECT_EQ(completion_time(adaptive_tree({.sizes = middle}, costs), {.sizes = middle}, costs), 244);
    auto random = seeded_random();
    for (int repetition = 0; repetition < test::repetitions(300); ++repetition) {
        const TreeInstance instance = random_instance(random, 1 + static_cast<int>(random() % 40), random() % 2);
        for (const int root : {kAnyRoot, instance.root})
            for (const std::uint64_t threshold : {0, 3, 30, 5000}) {
                const BlockTree tree = two_part_tree(instance.problem(), threshold, instance.costs, root);
                EXPECT_TRUE(is_tree(tree) && (root == kAnyRoot || tree.root == root)) << instance.text();
            }
    }
}

// Blocks that are too large for their tree go straight, and a small root may be among the large ranks.
TEST(UnorderedTrees, TwoSizesAndARootWithASmallBlock) {
    const LinearCosts costs{.alpha = 8192, .beta = 1, .gamma = 1};
    const BlockSizes spikes = bench::block_sizes(bench::SizeDistribution::spikes, 48, 1000);
    const BlockProblem page{.sizes = spikes};  // docs/performance/irregular-trees.md
    EXPECT_EQ(completion_time(two_part_tree(page, 5000, costs, 0), page, costs), 92768);
    EXPECT_EQ(completion_time(best_two_part_tree(page, 5000, costs, 0).tree, page, costs), 67809);
    EXPECT_EQ(completion_time(best_two_part_tree(page, 5000, costs, 3).tree, page, costs), 62810);
    // Very large blocks go straight.
    const BlockSizes few = {1, 200'000, 1, 1, 200'000, 1, 1, 1};
    const SegmentTree straight = best_two_part_tree({.sizes = few}, 200'000, {.alpha = 5, .beta = 1, .gamma = 0}, 0);
    for (const int large : {1, 4}) EXPECT_EQ(straight.tree.node(large).parent, 0);

    auto random = seeded_random();
    for (int repetition = 0; repetition < test::repetitions(500); ++repetition) {
        const TreeInstance instance = random_instance(random, 1 + static_cast<int>(random() % 40), random() % 2);
        const BlockProblem problem = instance.problem();
        for (const int root : {kAnyRoot, instance.root})
            for (const std::uint64_t threshold : {large_from(instance.sizes), std::uint64_t{0}, std::uint64_t{30}}) {
                const SegmentTree best = best_two_part_tree(problem, threshold, instance.costs, root);
                const BlockTree of_lemma = two_part_tree(problem, threshold, instance.costs, root);
                EXPECT_TRUE(is_tree(best.tree)) << instance.text();
                EXPECT_EQ(best.tree.root, of_lemma.root) << instance.text();
                EXPECT_LE(completion_time(best.tree, problem, instance.costs), completion_time(of_lemma, problem, instance.costs))
                    << instance.text();
                // Segments are blocks at successive positions.
                std::vector<int> positions(best.order.size());
                for (std::size_t i = 0; i < best.order.size(); ++i)
                    positions[static_cast<std::size_t>(best.order[i])] = static_cast<int>(i);
                BlockTree by_position(best.tree.ranks());
                for (int rank = 0; rank < best.tree.ranks(); ++rank)
                    if (const int parent = best.tree.node(rank).parent; parent >= 0)
                        by_position.connect(positions[static_cast<std::size_t>(rank)], positions[static_cast<std::size_t>(parent)]);
                by_position.root = positions[static_cast<std::size_t>(best.tree.root)];
                EXPECT_TRUE(is_ordered(by_position)) << instance.text();
            }
    }
}

// The costs of the job, in the model of trees.
TEST(UnorderedTrees, TheCostsOfAJob) {
    Costs costs;
    costs.network_gap = 2000;
    costs.network_mebibyte = 1 << 20;
    costs.copy_mebibyte = 1 << 19;
    EXPECT_EQ(tree_costs(costs).alpha, 2000);
    EXPECT_EQ(tree_costs(costs).beta, 1);
    EXPECT_EQ(tree_costs(costs).gamma, 0.5);
    EXPECT_EQ(straight_from(costs), 16'000u);
    costs.copy_mebibyte = 1 << 22;
    EXPECT_EQ(tree_costs(costs).gamma, 1) << "a copy that takes longer than to send";
    costs.network_gap = 3'600'000'000'000;  // the most that a file of costs may say
    costs.network_mebibyte = 1;
    EXPECT_GT(straight_from(costs), std::uint64_t{1} << 60);
    costs.network_gap = 1;
    costs.network_mebibyte = 3'600'000'000'000;
    EXPECT_EQ(straight_from(costs), 1u);
}

}  // namespace
}  // namespace rollcall::collectives
