// Algorithms for several nodes, in calls of which some ranks come late.
#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/intergroup.hpp"
#include "tests/model/two_level.hpp"

namespace rollcall::model_test {
namespace {

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

// The first rank of a node copies what others have for it as they come. So it makes no difference which of them is late.
TEST(TwoLevel, ALateRankKeepsBackItsOwnBlocksOnly) {
    constexpr int kRanks = 8, kFirst = 5;
    constexpr Nanoseconds kLate = 1'000'000;
    Simulation::Options options = two_on_each_node(kRanks);
    options.ranks_per_node = 4;
    Simulation::Options two_groups = options;
    two_groups.first_group = kFirst;
    using Run = std::function<Simulation::Outcome(const Times&)>;
    const auto between = [&](OperationKind kind) -> Run {
        return [&, kind](const Times& arrivals) {
            const AlgorithmEntry& entry = two_level(kind);
            return Simulation(two_groups)
                .run(
                    [&](int rank) {
                        return Simulation::RankCall{
                            call_between(entry, kFirst, -1, 500, 500, rank), entry.algorithm,
                            arguments_between(collectives::operation(kind), kFirst, kRanks - kFirst, -1, 500, 500, rank)};
                    },
                    arrivals);
        };
    };
    const std::pair<std::string_view, Run> calls[] = {
        {"allgather", [&](const Times& arrivals) { return two_level_outcome(OperationKind::allgather, options, -1, 500, arrivals); }},
        {"alltoall", [&](const Times& arrivals) { return two_level_outcome(OperationKind::alltoall, options, -1, 500, arrivals); }},
        {"own sizes",
         [&](const Times& arrivals) {
             return alltoall_of_own_sizes(
                 two_level(OperationKind::alltoall), options, [](int, int) { return 500; }, arrivals);
         }},
        {"allgather between groups", between(OperationKind::intergroup_allgather)},
        {"alltoall between groups", between(OperationKind::intergroup_alltoall)},
    };
    for (const auto& [name, run] : calls) {
        const auto end_if_late = [&, &run = run](std::size_t rank) {
            Times arrivals(kRanks);
            arrivals[rank] = kLate;
            const auto outcome = run(arrivals);
            return *std::max_element(outcome.exits.begin(), outcome.exits.end());
        };
        EXPECT_EQ(end_if_late(1), end_if_late(3)) << name;
    }
}

/// The last rank is alone on its node, and comes when the messages of all others have landed.
struct LastNodeLate {
    explicit LastNodeLate(Simulation::Options options) : last(options.ranks - 1), simulation(with_room(options)) {}
    static Simulation::Options with_room(Simulation::Options options) {
        options.landing_bytes = kRoomForAll;
        options.eager_bytes = 0;
        options.model.gamma = 0;
        return options;
    }
    /// Returns how many bytes are still to be copied when the last rank has begun: before, and after its first steps.
    std::pair<std::uint64_t, std::uint64_t> landed(const std::function<Simulation::RankCall(int)>& call_of) {
        std::vector<std::unique_ptr<runtime::Operation>> operations;
        for (int rank = 0; rank <= last; ++rank) {
            const Simulation::RankCall call = call_of(rank);
            operations.push_back(std::make_unique<runtime::Operation>(simulation.world(rank), simulation.world(rank).next_sequence++,
                                                                      call.call, call.algorithm.algorithm, call.arguments));
            if (rank < last) simulation.engine(rank).begin(*operations.back());
        }
        simulation.network().run();
        const std::uint64_t before = late().landing().used();
        late().begin(*operations.back());
        const std::uint64_t after = late().landing().used();
        simulation.network().run();
        for (const auto& operation : operations) EXPECT_TRUE(operation->done());
        EXPECT_EQ(late().landing().used(), 0u);
        return {before, after};
    }
    runtime::Engine& late() { return simulation.engine(last); }
    int last;
    Simulation simulation;
};

// All other nodes wait for what a late node sends, and no rank for its copies of what has landed.
TEST(LastNodeLate, SendsBeforeItCopies) {
    constexpr int kRanks = 5;
    for (const std::uint64_t bytes : {100, 10'000}) {  // in one lane, and in one for each rank
        LastNodeLate late(two_on_each_node(kRanks));
        const AlgorithmEntry& entry = arrival_ordered();
        const auto [before, after] = late.landed([&](int rank) {
            Simulation::RankCall call{collectives::make_call(entry, -1, bytes, 0), entry.algorithm, {}};
            call.arguments = collectives::arguments_of(collectives::operation(entry.operation), {}, bytes, kRanks, rank == 0);
            return call;
        });
        EXPECT_GE(before, (kRanks - 1) * bytes);
        EXPECT_EQ(after, before) << bytes;
    }
}

TEST(LastNodeLate, SendsBeforeItCopiesBetweenTwoGroups) {
    constexpr int kFirst = 4;
    constexpr std::uint64_t kBytes = 1000;
    Simulation::Options options = two_on_each_node(kFirst + 1);
    options.first_group = kFirst;
    LastNodeLate late(options);
    const AlgorithmEntry& entry = two_level(OperationKind::intergroup_alltoall);
    const auto [before, after] = late.landed([&](int rank) {
        return Simulation::RankCall{call_between(entry, kFirst, -1, kBytes, kBytes, rank), entry.algorithm,
                                    arguments_between(collectives::operation(entry.operation), kFirst, 1, -1, kBytes, kBytes, rank)};
    });
    EXPECT_GE(before, kFirst * kBytes);
    EXPECT_EQ(after, before);
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

// Rank 3 collects for its node, and passes on the blocks of other nodes before it comes, or while it waits for a rank of its node. So only
// the blocks of that node go round the ring when the last rank has come. A message with the blocks of a node takes 3000.
TEST(TwoLevel, ALateRankOfAnAllgatherKeepsBackTheBlocksOfItsNode) {
    constexpr int kNodes = 4, kLateNode = 1;
    constexpr Nanoseconds kLate = 1'000'000, kMessage = 3000;
    auto options = decoupled_nodes();
    options.model.gamma = 0;
    for (const std::vector<int>& late : {std::vector<int>{3}, std::vector<int>{5}, std::vector<int>{3, 4, 5}}) {
        SCOPED_TRACE(testing::PrintToString(late));
        Times arrivals(12);
        for (const int rank : late) arrivals[static_cast<std::size_t>(rank)] = kLate;
        const auto exits = two_level_outcome(OperationKind::allgather, options, -1, 1000, arrivals).exits;
        for (int distance = 1; distance < kNodes; ++distance) {
            const auto first = static_cast<std::size_t>((kLateNode + distance) % kNodes * 3);
            EXPECT_EQ(exits[first], kLate + std::min(distance + 1, kNodes - 1) * kMessage)
                << "it passes the blocks on, but for the last one";
            for (const std::size_t other : {first + 1, first + 2}) EXPECT_EQ(exits[other], kLate + distance * kMessage) << distance;
        }
        // What landed before rank 3 came is copied while it waits for its node, or else when its own message has left.
        EXPECT_EQ(exits[3], kLate + kMessage);
        for (const std::size_t other : {4, 5}) EXPECT_EQ(exits[other], late.size() == 1 && late[0] == 3 ? kLate + kMessage : kLate);
        auto without = options;
        without.find_part_alone = nullptr;
        EXPECT_EQ(two_level_outcome(OperationKind::allgather, without, -1, 1000, arrivals).exits[7],
                  late.front() == 3 ? kLate + (kNodes - 1) * kMessage : kLate + kMessage);
    }
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

// In one lane or in three, only the root waits for all. The others leave after a copy, those that combine for their node, too.
TEST(TwoLevel, ALateRankOfEachNodeDelaysOnlyTheRootOfAReduce) {
    constexpr Nanoseconds kLate = 100'000'000;
    const auto options = decoupled_nodes();
    for (const std::uint64_t bytes : {1000, 60'000, 90'000})
        for (int late_place = 0; late_place < 3; ++late_place) {
            const auto balanced = two_level_outcome(OperationKind::reduce, options, 1, bytes, Times(12));
            Times arrivals(12);
            for (int node = 0; node < 4; ++node) arrivals[static_cast<std::size_t>(3 * node + late_place)] = kLate;
            const auto late = two_level_outcome(OperationKind::reduce, options, 1, bytes, arrivals);
            for (std::size_t rank = 0; rank < arrivals.size(); ++rank)
                EXPECT_LE(late.exits[rank], rank == 1 ? kLate + balanced.exits[1] : arrivals[rank] + static_cast<Nanoseconds>(bytes) / 5)
                    << rank << ' ' << late_place;
            EXPECT_GE(late.exits[1], kLate);
        }
}

// However often the root or another rank is late, the others leave after a copy: once their entries in node memory are taken, they hand
// over.
TEST(TwoLevel, ALateRankDelaysOnlyTheRootOfManyCalls) {
    constexpr int kCalls = 40, kRoot = 1;
    constexpr Nanoseconds kLate = 100'000'000;
    constexpr std::uint64_t kBytes = 4000;
    for (const OperationKind operation : {OperationKind::reduce, OperationKind::gather})
        for (const int late : {kRoot, 3, 4}) {
            SCOPED_TRACE(std::string(runtime::name(operation)) + " with rank " + std::to_string(late) + " late");
            Step step{.entry = &two_level(operation), .root = kRoot, .bytes = kBytes, .delays = Times(6), .plans = {}};
            std::vector<Step> steps(kCalls, step);
            steps[0].delays[static_cast<std::size_t>(late)] = kLate;
            auto options = decoupled_nodes();
            options.ranks = 6;
            Simulation simulation(options);
            Job job(simulation, steps);
            job.run();
            job.expect_success();
            job.expect_clean();
            for (int rank = 0; rank < options.ranks; ++rank) {
                if (rank == kRoot || rank == late) continue;
                EXPECT_LT(job.exit(rank, kCalls - 1), kLate / 10) << "rank " << rank;
            }
            EXPECT_GE(job.exit(kRoot, 0), kLate);
        }
}

// The lowest rank of another node has memory for the elements of its node and for those of other nodes. In three lanes each rank has memory
// for its share. A rank that only publishes mostly hands nothing over.
TEST(TwoLevel, APartOfAReduceHasMemoryForWhatItCombines) {
    const AlgorithmEntry& entry = two_level(OperationKind::reduce);
    const auto part = [&](const AlgorithmEntry& algorithm, int rank, std::uint64_t bytes) {
        runtime::Group group;
        group.size = 6;
        group.nodes = std::make_shared<runtime::Nodes>(runtime::Nodes{.of = {0, 0, 0, 1, 1, 1}, .members = {{0, 1, 2}, {3, 4, 5}}});
        return collectives::part_alone(collectives::make_call(algorithm, 1, bytes, 0), rank, group);
    };
    for (const int rank : {0, 2, 4, 5}) EXPECT_TRUE(part(entry, rank, 60'000).only_publishes) << rank;
    EXPECT_EQ(part(entry, 3, 60'000).passed_on, 120'000u);
    EXPECT_FALSE(part(entry, 3, 60'000).only_publishes);
    EXPECT_TRUE(part(entry, 3, 60'000).ends_after);
    EXPECT_FALSE(part(entry, 1, 60'000).ends_after) << "the root";
    for (const int rank : {0, 2, 3, 4, 5}) EXPECT_EQ(part(entry, rank, 90'000).passed_on, 60'000u) << rank;
    for (const int rank : {0, 2, 4, 5}) EXPECT_TRUE(part(two_level(OperationKind::gather), rank, 1000).only_publishes) << rank;
    EXPECT_FALSE(part(two_level(OperationKind::gather), 3, 1000).only_publishes);
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

}  // namespace
}  // namespace rollcall::model_test
