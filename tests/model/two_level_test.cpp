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
const AlgorithmEntry& arrival_ordered() {
    return collectives::find_algorithm(OperationKind::alltoall, "arrival_ordered_two_level", collectives::kReal);
}

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

Simulation::Outcome outcome_of_entry(const AlgorithmEntry& entry, const Simulation::Options& options, int root, std::uint64_t bytes,
                                     const Times& arrivals) {
    Simulation simulation(options);
    return simulation.run(
        [&](int rank) {
            Simulation::RankCall call{collectives::make_call(entry, root, bytes, 0), entry.algorithm, {}};
            call.arguments = collectives::arguments_of(collectives::operation(entry.operation), {}, bytes, options.ranks, rank == root);
            return call;
        },
        arrivals);
}
Simulation::Outcome two_level_outcome(OperationKind operation, const Simulation::Options& options, int root, std::uint64_t bytes,
                                      const Times& arrivals) {
    return outcome_of_entry(two_level(operation), options, root, bytes, arrivals);
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

/// An alltoall of blocks that have sizes of their own.
Simulation::Outcome alltoall_of_own_sizes(const AlgorithmEntry& entry, const Simulation::Options& options,
                                          const std::function<std::uint64_t(int from, int to)>& bytes, const Times& arrivals) {
    const auto ranks = static_cast<std::size_t>(options.ranks);
    std::vector<std::vector<runtime::Block>> sent(ranks), received(ranks);
    Simulation simulation(options);
    return simulation.run(
        [&](int rank) {
            const auto r = static_cast<std::size_t>(rank);
            Simulation::RankCall call{collectives::make_call(entry, -1, runtime::kManySizes, 0), entry.algorithm, {}};
            call.call.own_sizes = true;
            for (int other = 0; other < options.ranks; ++other) {
                sent[r].push_back({call.arguments.contribution.size, bytes(rank, other)});
                received[r].push_back({call.arguments.data.size, bytes(other, rank)});
                call.arguments.contribution.size += bytes(rank, other);
                call.arguments.data.size += bytes(other, rank);
            }
            call.arguments.contribution_blocks = sent[r].data();
            call.arguments.blocks = received[r].data();
            return call;
        },
        arrivals);
}
Simulation::Outcome alltoall_of_own_sizes(const Simulation::Options& options, std::uint64_t bytes) {
    return alltoall_of_own_sizes(
        two_level(OperationKind::alltoall), options, [&](int, int) { return bytes; }, Times(static_cast<std::size_t>(options.ranks)));
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

// --- an alltoall in which every other node is late -----------------------------------------------------------------------------------

/// Three ranks on each of eight nodes. On odd nodes the ranks come late, one after the other.
struct HalfOfTheNodesLate {
    static constexpr int kNodes = 8, kPerNode = 3, kRanks = kNodes * kPerNode;
    static constexpr Nanoseconds kLate = 1'000'000'000;

    static bool is_late(int rank) { return rank / kPerNode % 2 == 1; }
    static Times arrivals() {
        Times times;
        for (int rank = 0; rank < kRanks; ++rank) times.push_back(is_late(rank) ? kLate + rank % kPerNode : 0);
        return times;
    }
    static Simulation::Options options(std::uint64_t landing, std::uint64_t eager) {
        Simulation::Options made = two_on_each_node(kRanks);
        made.ranks_per_node = kPerNode;
        made.landing_bytes = landing;
        made.eager_bytes = eager;
        made.model.gamma = 0;
        return made;
    }
};
constexpr std::uint64_t kRoomForAll = std::uint64_t{1} << 40;

/// The landing budget and the length of eager messages.
constexpr std::pair<std::uint64_t, std::uint64_t> kWaysToTravel[] = {{0, 0}, {kRoomForAll, 0}, {kRoomForAll, 64 << 10}};

/// Equal blocks. Calls `look` just before the late nodes come.
void with_late_nodes(std::uint64_t landing, std::uint64_t eager, std::uint64_t bytes,
                     const std::function<collectives::Buffers(int)>& buffers, const std::function<void(Simulation&)>& look) {
    using Late = HalfOfTheNodesLate;
    const AlgorithmEntry& entry = arrival_ordered();
    Simulation simulation(Late::options(landing, eager));
    std::function<void()> now = [&] { look(simulation); };
    simulation.network().schedule(
        Late::kLate - 1, [](void* does, int) { (*static_cast<std::function<void()>*>(does))(); }, &now, 0);
    simulation.run(
        [&](int rank) {
            Simulation::RankCall call{collectives::make_call(entry, -1, bytes, 0), entry.algorithm, {}};
            call.arguments = collectives::arguments_of(collectives::operation(entry.operation), buffers(rank), bytes, Late::kRanks, false);
            return call;
        },
        Late::arrivals());
}

// In lanes, what comes goes straight to its place.
TEST(HalfOfTheNodesLate, EarlyOnesHaveExchangedInLanes) {
    using Late = HalfOfTheNodesLate;
    constexpr std::uint64_t kBytes = 5000;
    for (const auto& [landing, eager] : kWaysToTravel) {
        SCOPED_TRACE(fmt::format("landing={} eager={}", landing, eager));
        std::vector<std::vector<std::byte>> from, into(Late::kRanks, std::vector<std::byte>(Late::kRanks * kBytes));
        for (int rank = 0; rank < Late::kRanks; ++rank) from.emplace_back(Late::kRanks * kBytes, static_cast<std::byte>(rank + 1));
        int looked_at = 0, missing = 0;
        with_late_nodes(
            landing, eager, kBytes,
            [&](int rank) -> collectives::Buffers {
                return {.contribution = from[static_cast<std::size_t>(rank)].data(), .data = into[static_cast<std::size_t>(rank)].data()};
            },
            [&](Simulation&) {
                for (std::size_t to = 0; to < into.size(); ++to)
                    for (std::size_t source = 0; source < into.size(); ++source) {
                        if (Late::is_late(static_cast<int>(to)) || Late::is_late(static_cast<int>(source))) continue;
                        ++looked_at;
                        missing += into[to][(source + 1) * kBytes - 1] != static_cast<std::byte>(source + 1);
                    }
            });
        EXPECT_EQ(looked_at, Late::kRanks * Late::kRanks / 4);
        EXPECT_EQ(missing, 0);
    }
}

// Short blocks: the first rank of a node sends one message at a time, and waits for its end. Where nothing lands, it has sent one to each
// early node and has offered one to a late node, which has answered.
TEST(HalfOfTheNodesLate, EarlyOnesHaveExchangedShortBlocks) {
    using Late = HalfOfTheNodesLate;
    constexpr int kEarly = Late::kNodes / 2;
    for (const auto& [landing, eager] : kWaysToTravel) {
        SCOPED_TRACE(fmt::format("landing={} eager={}", landing, eager));
        std::uint64_t messages = 0;
        with_late_nodes(
            landing, eager, 100, [](int) -> collectives::Buffers { return {}; },
            [&](Simulation& simulation) { messages = simulation.network().messages(); });
        EXPECT_EQ(messages, static_cast<std::uint64_t>(kEarly * (landing == 0 ? kEarly + 1 : Late::kNodes - 1)));
    }
}

// Blocks of different sizes: those between early nodes are a thousand times as long as the others.
TEST(HalfOfTheNodesLate, EarlyOnesHaveExchangedBlocksOfTheirSizes) {
    using Late = HalfOfTheNodesLate;
    constexpr std::uint64_t kLong = 1'000'000, kShort = 1000;
    for (const auto& [landing, eager] : kWaysToTravel) {
        SCOPED_TRACE(fmt::format("landing={} eager={}", landing, eager));
        const auto outcome = alltoall_of_own_sizes(
            two_level(OperationKind::alltoall), Late::options(landing, eager),
            [](int from, int to) { return Late::is_late(from) || Late::is_late(to) ? kShort : kLong; }, Late::arrivals());
        for (const Nanoseconds exit : outcome.exits) EXPECT_LE(exit, Late::kLate + static_cast<Nanoseconds>(kLong));
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

/// Four nodes of three ranks, in which a rank's part may run without its caller.
Simulation::Options decoupled_nodes() {
    Simulation::Options options = two_on_each_node(12);
    options.ranks_per_node = 3;
    options.find_part_alone = &collectives::part_alone;
    options.eager_bytes = 500;
    return options;
}

// The blocks of a node go on into its memory before the rank that passes them on has come.
TEST(TwoLevel, ALateRankOfEachNodeDelaysNobodyInAScatter) {
    constexpr Nanoseconds kLate = 1'000'000;
    const auto options = decoupled_nodes();
    for (const std::uint64_t bytes : {100, 1000}) {
        const auto balanced = two_level_outcome(OperationKind::scatter, options, 1, bytes, Times(12));
        const Nanoseconds longest = *std::max_element(balanced.exits.begin(), balanced.exits.end());
        Times arrivals(12);
        for (const int rank : {3, 6, 9}) arrivals[static_cast<std::size_t>(rank)] = kLate;
        const auto late = two_level_outcome(OperationKind::scatter, options, 1, bytes, arrivals);
        for (std::size_t rank = 0; rank < arrivals.size(); ++rank)
            EXPECT_LE(late.exits[rank], std::max(arrivals[rank], longest) + static_cast<Nanoseconds>(bytes) / 5) << rank;
    }
}

// Only the root waits for all. The others leave after a copy, those that collect for their node, too.
TEST(TwoLevel, ALateRankOfEachNodeDelaysOnlyTheRootOfAGather) {
    constexpr Nanoseconds kLate = 1'000'000;
    const auto options = decoupled_nodes();
    for (const std::uint64_t bytes : {100, 1000})
        for (int late_place = 0; late_place < 3; ++late_place) {
            const auto balanced = two_level_outcome(OperationKind::gather, options, 1, bytes, Times(12));
            Times arrivals(12);
            for (int node = 0; node < 4; ++node) arrivals[static_cast<std::size_t>(3 * node + late_place)] = kLate;
            const auto late = two_level_outcome(OperationKind::gather, options, 1, bytes, arrivals);
            for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
                // Short data is not handed over: it leaves at once, except that of the rank that collects.
                const bool waits = rank == 1 || (bytes <= options.eager_bytes && rank > 2 && rank % 3 == 0);
                EXPECT_LE(late.exits[rank], waits ? kLate + balanced.exits[1] : arrivals[rank] + static_cast<Nanoseconds>(bytes) / 5)
                    << rank << ' ' << late_place;
            }
        }
}

// The blocks of a node that a rank collects or passes on without its caller count in the landing budget.
TEST(TwoLevel, WithoutRoomForTheBlocksOfANodeTheRankThatCollectsThemStays) {
    constexpr Nanoseconds kLate = 1'000'000;
    constexpr std::uint64_t kBytes = 1000;
    Times arrivals(12);
    arrivals[4] = arrivals[7] = arrivals[10] = kLate;
    // Half of the budget is for eager messages, and a call may take half of the rest: its own block, and those of its node.
    for (const std::uint64_t room : {4 * kBytes - 1, 4 * kBytes}) {
        auto options = decoupled_nodes();
        options.landing_bytes = 4 * room;
        const auto outcome = two_level_outcome(OperationKind::gather, options, 1, kBytes, arrivals);
        for (const std::size_t collects : {3, 6, 9}) {
            if (room < 4 * kBytes)
                EXPECT_GT(outcome.exits[collects], kLate) << collects;
            else
                EXPECT_LT(outcome.exits[collects], kLate) << collects;
        }
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
