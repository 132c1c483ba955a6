// Algorithms for several nodes: their worked examples, what leaves a node, and random calls.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/reduced.hpp"
#include "tests/model/two_level.hpp"

namespace rollcall::model_test {
namespace {

std::vector<const AlgorithmEntry*> two_level_algorithms() {
    auto found = moving_algorithms();
    std::erase_if(found, [](const AlgorithmEntry* entry) { return !entry->needs.contains(collectives::Condition::several_nodes); });
    return found;
}

Times two_level_example(OperationKind operation, int root) {
    const auto options = two_on_each_node(4);
    if (!collectives::operation(operation).combines) return two_level_outcome(operation, options, root, 10, Times(4)).exits;
    const std::vector<std::vector<std::uint8_t>> operands(4, std::vector<std::uint8_t>(10, 1));
    return Reduced<std::uint8_t>(options, two_level(operation), root, reduction_of<std::uint8_t>(sum), operands, 0, false, Times(4)).exits;
}

// The examples at the heads of the algorithms, with all times twice as long.
TEST(TwoLevelExamples, Broadcast) {
    EXPECT_EQ(two_level_outcome(OperationKind::broadcast, two_on_each_node(6), 1, 10, Times(6)).exits, (Times{24, 22, 12, 14, 22, 24}));
}
TEST(TwoLevelExamples, Allreduce) { EXPECT_EQ(two_level_example(OperationKind::allreduce, -1), (Times{18, 20, 18, 20})); }
TEST(TwoLevelExamples, Reduce) { EXPECT_EQ(two_level_example(OperationKind::reduce, 0), (Times{16, 2, 14, 2})); }
TEST(TwoLevelExamples, Scan) { EXPECT_EQ(two_level_example(OperationKind::scan, -1), (Times{4, 16, 20, 22})); }
TEST(TwoLevelExamples, ExclusiveScan) { EXPECT_EQ(two_level_example(OperationKind::exclusive_scan, -1), (Times{2, 16, 20, 22})); }
// In lanes, all times are 4000 times as long.
TEST(TwoLevelExamples, ReduceScatter) {
    for (const auto& [block, expected] : {std::pair(std::size_t{10}, Times(4, 44)), std::pair(std::size_t{20'000}, Times(4, 56'000))}) {
        const std::vector<std::vector<std::uint8_t>> operands(4, std::vector<std::uint8_t>(4 * block, 1));
        const Reduced<std::uint8_t> made(two_on_each_node(4), two_level(OperationKind::reduce_scatter), -1, reduction_of<std::uint8_t>(sum),
                                         operands, 0, false, Times(4));
        EXPECT_EQ(made.exits, expected) << block;
    }
}
TEST(TwoLevelExamples, Allgather) { EXPECT_EQ(two_level_example(OperationKind::allgather, -1), (Times{32, 40, 32, 40})); }
TEST(TwoLevelExamples, Gather) { EXPECT_EQ(two_level_example(OperationKind::gather, 0), (Times{24, 2, 24, 2})); }
TEST(TwoLevelExamples, Scatter) { EXPECT_EQ(two_level_example(OperationKind::scatter, 0), (Times{20, 4, 24, 24})); }
TEST(TwoLevelExamples, Barrier) {
    auto options = two_on_each_node(4);
    options.model.alpha = 10;
    EXPECT_EQ(two_level_outcome(OperationKind::barrier, options, -1, 0, {0, 0, 0, 4}).exits, (Times{14, 14, 14, 10}));
}
TEST(TwoLevelExamples, AlltoallInOneLane) { EXPECT_EQ(two_level_example(OperationKind::alltoall, -1), (Times{88, 88, 88, 88})); }
// All times are a thousand times as long.
TEST(TwoLevelExamples, AlltoallInLanes) {
    const auto outcome = two_level_outcome(OperationKind::alltoall, two_on_each_node(4), -1, 5000, Times(4));
    EXPECT_EQ(outcome.exits, Times(4, 22'000));
}

// All times are 5000 times as long. Copies take no time.
TEST(TwoLevelExamples, AlltoallArrivalOrdered) {
    auto options = two_on_each_node(8);
    options.model.gamma = 0;
    constexpr Nanoseconds kLate = 9 * 5000;
    const auto outcome = outcome_of_entry(arrival_ordered(), options, -1, 5000, {0, 0, kLate, kLate, 0, 0, kLate, kLate});
    EXPECT_EQ(outcome.exits, Times(8, 15 * 5000));
}

// All times are a million times as long. The sizes take a little time, too.
TEST(TwoLevelExamples, AlltoallOfOwnSizes) {
    constexpr Nanoseconds kMillion = 1'000'000;
    const auto exits = alltoall_of_own_sizes(two_on_each_node(4), 5 * kMillion).exits;
    const Times expected{44 * kMillion, 40 * kMillion, 44 * kMillion, 40 * kMillion};
    for (std::size_t rank = 0; rank < exits.size(); ++rank) EXPECT_NEAR(exits[rank], expected[rank], kMillion / 10) << rank;
}

// The data enters each node once.
TEST(TwoLevel, MessagesGoBetweenNodesOnly) {
    constexpr int kNodes = 5, kPerNode = 4, kRanks = kNodes * kPerNode;
    Simulation::Options options = two_on_each_node(kRanks);
    options.ranks_per_node = kPerNode;
    constexpr std::uint64_t kBytes = 1000;
    for (const int root : {0, 6, kRanks - 1}) {
        const auto broadcast = two_level_outcome(OperationKind::broadcast, options, root, kBytes, Times(kRanks));
        EXPECT_EQ(broadcast.bytes, (kNodes - 1) * kBytes) << root;
    }
    options.eager_bytes = 1 << 20;  // A message is one message, without a word before it.
    for (const OperationKind kind : {OperationKind::gather, OperationKind::scatter})
        for (const int root : {0, 6, kRanks - 1}) {
            const auto outcome = two_level_outcome(kind, options, root, kBytes, Times(kRanks));
            EXPECT_EQ(outcome.messages, static_cast<std::uint64_t>(kNodes - 1)) << runtime::name(kind) << ' ' << root;
            EXPECT_EQ(outcome.bytes, (kNodes - 1) * kPerNode * kBytes) << runtime::name(kind) << ' ' << root;
        }
    EXPECT_EQ(two_level_outcome(OperationKind::barrier, options, -1, 0, Times(kRanks)).messages, 3u * kNodes) << "log2 of 5 nodes";
    options.eager_bytes = 0;
    const auto allgather = two_level_outcome(OperationKind::allgather, options, -1, kBytes, Times(kRanks));
    EXPECT_EQ(allgather.bytes, kNodes * (kNodes - 1) * kPerNode * kBytes);
    // In one lane or in several ones. (With short blocks, halving sends more where the number of nodes is not a power of two.)
    for (const std::uint64_t block : {kBytes, 5 * kBytes}) {
        const auto scattered = two_level_outcome(OperationKind::reduce_scatter, options, -1, block, Times(kRanks));
        EXPECT_EQ(scattered.bytes, kNodes * (kNodes - 1) * kPerNode * block);
    }
    // Nodes 1 to 4 get what the node before has, and nodes 1 and 2 twice; nodes 2 to 4 from two nodes before, node 4 from four before.
    for (const OperationKind kind : {OperationKind::scan, OperationKind::exclusive_scan})
        EXPECT_EQ(two_level_outcome(kind, options, -1, kBytes, Times(kRanks)).bytes, (6 + 3 + 1) * kBytes);
}

// A few lanes of many ranks share out what one lane of few ranks combines.
TEST(TwoLevel, LargeNodesHaveSeveralLanes) {
    for (const auto& [per_node, bytes, lanes] :
         {std::tuple(4, std::size_t{64 << 10}, 1u), {8, 32 << 10, 1u}, {8, 33 << 10, 2u}, {8, 64 << 10, 2u}, {12, 64 << 10, 3u}}) {
        Simulation::Options options = two_on_each_node(2 * per_node);
        options.ranks_per_node = per_node;
        options.eager_bytes = 1 << 20;
        std::vector<std::vector<std::uint8_t>> operands;
        std::vector<std::uint8_t> expected(bytes);
        for (int rank = 0; rank < options.ranks; ++rank) {
            auto& own = operands.emplace_back(bytes);
            for (std::size_t i = 0; i < bytes; ++i) {
                own[i] = static_cast<std::uint8_t>(static_cast<std::size_t>(rank) * 7 + i % 251);
                expected[i] = static_cast<std::uint8_t>(expected[i] + own[i]);
            }
        }
        const Times arrivals(operands.size());
        const Reduced<std::uint8_t> all(options, two_level(OperationKind::allreduce), -1, reduction_of<std::uint8_t>(sum), operands, 0,
                                        false, arrivals);
        EXPECT_EQ(all.messages, 2 * lanes) << per_node << ' ' << bytes;
        for (const auto& result : all.results) ASSERT_EQ(result, expected);
        // In a reduce_scatter the same elements are blocks for all ranks.
        const std::size_t block = bytes / operands.size();
        for (auto& own : operands) own.resize(block * operands.size());
        const Reduced<std::uint8_t> scattered(options, two_level(OperationKind::reduce_scatter), -1, reduction_of<std::uint8_t>(sum),
                                              operands, 0, false, arrivals);
        EXPECT_EQ(scattered.messages, 2 * lanes) << per_node << ' ' << bytes;
        for (std::size_t rank = 0; rank < operands.size(); ++rank)
            ASSERT_TRUE(std::equal(scattered.results[rank].begin(), scattered.results[rank].end(),
                                   expected.begin() + static_cast<std::ptrdiff_t>(rank * block)));
    }
}

// One message for each pair of nodes, or one in each lane. No block goes over the network twice.
TEST(TwoLevel, ANodeCombinesWhatItSendsToAnotherOne) {
    constexpr int kNodes = 5, kPerNode = 4, kRanks = kNodes * kPerNode, kPairs = kNodes * (kNodes - 1);
    Simulation::Options options = two_on_each_node(kRanks);
    options.ranks_per_node = kPerNode;
    options.eager_bytes = 1 << 20;
    for (const auto& [bytes, lanes] : {std::pair<std::uint64_t, int>(512, 1), std::pair<std::uint64_t, int>(513, kPerNode)}) {
        const auto outcome = two_level_outcome(OperationKind::alltoall, options, -1, bytes, Times(kRanks));
        EXPECT_EQ(outcome.messages, static_cast<std::uint64_t>(kPairs * lanes)) << bytes;
        EXPECT_EQ(outcome.bytes, static_cast<std::uint64_t>(kPairs * kPerNode * kPerNode) * bytes) << bytes;
    }
    // Blocks of different sizes: two messages for each pair of nodes, one of which has the sizes.
    for (const std::uint64_t bytes : {1, 5000}) {
        const auto outcome = alltoall_of_own_sizes(options, bytes);
        EXPECT_EQ(outcome.messages, static_cast<std::uint64_t>(2 * kPairs)) << bytes;
        EXPECT_EQ(outcome.bytes, static_cast<std::uint64_t>(kPairs * kPerNode * kPerNode) * (bytes + sizeof(std::uint64_t))) << bytes;
    }
}

TEST(TwoLevel, RandomCallsOneAfterTheOther) {
    Random random(1);
    for (int repetition = 0; repetition < repetitions(60); ++repetition) {
        const int n = static_cast<int>(random.between(2, 24));
        std::vector<Step> steps;
        auto options = random_machine(random, n, 20'000, two_level(OperationKind::broadcast));
        for (int i = 0; i < 6; ++i) {
            // Some of them in turn with algorithms that know of no nodes.
            const AlgorithmEntry* entry = random.pick(two_level_algorithms());
            if (random.chance(0.3)) entry = &collectives::find_algorithm(OperationKind::broadcast, "binomial");
            const std::uint64_t bytes = random.pick(std::vector<std::uint64_t>{0, 1, 50, 57, 1000, 8193, 20'000, 70'000});
            Step step{.entry = entry,
                      .root = static_cast<int>(random.below(static_cast<std::uint64_t>(n))),
                      .bytes = collectives::operation(entry->operation).in_blocks ? std::min<std::uint64_t>(bytes, 8193) : bytes,
                      .delays = random_delays(random, n, 0, 50'000),
                      .at_once = random.chance(0.3),
                      .in_place = random.chance(0.3),
                      .plans = {}};
            if (random.chance(0.3)) plan_at_random(random, step);
            steps.push_back(std::move(step));
        }
        expect_right_results(options, steps);
        if (testing::Test::HasFailure()) return;
    }
}

}  // namespace
}  // namespace rollcall::model_test
