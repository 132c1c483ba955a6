// Algorithms for several nodes: their worked examples, what leaves a node, and calls of which not all ranks have arrived.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/job.hpp"
#include "tests/model/reduced.hpp"

namespace rollcall::model_test {
namespace {

using collectives::AlgorithmEntry;
using runtime::OperationKind;
using runtime::Simulation;

const AlgorithmEntry& two_level(OperationKind operation) { return collectives::find_algorithm(operation, "two_level", collectives::kReal); }

std::vector<const AlgorithmEntry*> two_level_algorithms() {
    auto found = moving_algorithms();
    std::erase_if(found, [](const AlgorithmEntry* entry) { return !entry->needs.contains(collectives::Condition::several_nodes); });
    return found;
}

/// A byte takes 1 on the network, and 0.2 to copy or to combine.
Simulation::Options two_on_each_node(int ranks) {
    Simulation::Options options;
    options.ranks = ranks;
    options.ranks_per_node = 2;
    options.eager_bytes = 0;
    options.model.gamma = 0.2;
    return options;
}

Simulation::Outcome two_level_outcome(OperationKind operation, const Simulation::Options& options, int root, std::uint64_t bytes,
                                      const Times& arrivals) {
    const AlgorithmEntry& entry = two_level(operation);
    Simulation simulation(options);
    return simulation.run(
        [&](int rank) {
            Simulation::RankCall call{collectives::make_call(entry, root, bytes, 0), entry.algorithm, {}};
            call.arguments = collectives::arguments_of(collectives::operation(operation), {}, bytes, options.ranks, rank == root);
            return call;
        },
        arrivals);
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
TEST(TwoLevelExamples, Allgather) { EXPECT_EQ(two_level_example(OperationKind::allgather, -1), (Times{32, 40, 32, 40})); }
TEST(TwoLevelExamples, AlltoallInOneLane) { EXPECT_EQ(two_level_example(OperationKind::alltoall, -1), (Times{88, 88, 88, 88})); }
// All times are a thousand times as long.
TEST(TwoLevelExamples, AlltoallInLanes) {
    const auto outcome = two_level_outcome(OperationKind::alltoall, two_on_each_node(4), -1, 5000, Times(4));
    EXPECT_EQ(outcome.exits, Times(4, 22'000));
}

/// An alltoall of blocks of different sizes, which all have this size.
Simulation::Outcome alltoall_of_own_sizes(const Simulation::Options& options, std::uint64_t bytes) {
    const AlgorithmEntry& entry = two_level(OperationKind::alltoall);
    const auto ranks = static_cast<std::size_t>(options.ranks);
    std::vector<runtime::Block> blocks;
    for (std::size_t rank = 0; rank < ranks; ++rank) blocks.push_back({rank * bytes, bytes});
    Simulation simulation(options);
    return simulation.run(
        [&](int) {
            Simulation::RankCall call{collectives::make_call(entry, -1, runtime::kManySizes, 0), entry.algorithm, {}};
            call.call.own_sizes = true;
            call.arguments.data = {nullptr, ranks * bytes};
            call.arguments.contribution = call.arguments.data;
            call.arguments.blocks = call.arguments.contribution_blocks = blocks.data();
            return call;
        },
        Times(ranks));
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
    const auto allgather = two_level_outcome(OperationKind::allgather, options, -1, kBytes, Times(kRanks));
    EXPECT_EQ(allgather.bytes, kNodes * (kNodes - 1) * kPerNode * kBytes);
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

// A message goes on, and into the memory of a node, whether the rank that passes it on has arrived or not.
TEST(TwoLevel, ALateRankOfEachNodeDelaysNobodyInABroadcast) {
    constexpr int kRanks = 12;
    constexpr Nanoseconds kLate = 1'000'000;
    Simulation::Options options = two_on_each_node(kRanks);
    options.ranks_per_node = 3;
    options.find_part_alone = &collectives::part_alone;
    constexpr std::uint64_t kBytes = 1000;
    const auto balanced = two_level_outcome(OperationKind::broadcast, options, 1, kBytes, Times(kRanks));
    const Nanoseconds longest = *std::max_element(balanced.exits.begin(), balanced.exits.end());
    Times arrivals(kRanks);
    for (int rank = 0; rank < kRanks; rank += 3) arrivals[static_cast<std::size_t>(rank)] = kLate;  // All that pass it on but the root.
    const auto late = two_level_outcome(OperationKind::broadcast, options, 1, kBytes, arrivals);
    for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
        // A rank that takes over what has come copies it once more.
        EXPECT_LE(late.exits[rank], std::max(arrivals[rank], longest) + 3 * kBytes / 5) << rank;
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
        SCOPED_TRACE(describe(options) + describe(steps));
        Simulation simulation(options);
        Job job(simulation, steps);
        job.run();
        job.expect_success();
        job.expect_clean();
        if (testing::Test::HasFailure()) return;
    }
}

}  // namespace
}  // namespace rollcall::model_test
