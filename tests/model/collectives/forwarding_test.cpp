// Ranks that pass on the blocks of others before their own callers come (PartAlone::forwards).
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/decoupled.hpp"

namespace rollcall::model_test::decoupled {
namespace {

constexpr std::uint64_t kBytes = 1000;
constexpr Nanoseconds kMessage = 20 + static_cast<Nanoseconds>(kBytes);

const AlgorithmEntry& ring() { return collectives::find_algorithm(OperationKind::allgather, "background_disseminated_ring"); }
const AlgorithmEntry& allgather(std::string_view name) { return collectives::find_algorithm(OperationKind::allgather, name); }

/// The allgather of one rank, with its memory.
struct OneAllgather {
    OneAllgather(Simulation& simulation, int its_rank, std::uint64_t bytes = kBytes, const AlgorithmEntry& entry = ring())
        : rank(its_rank),
          own(bytes, static_cast<std::byte>(its_rank + 1)),
          all(bytes * static_cast<std::uint64_t>(simulation.size())),
          operation(simulation.world(rank), simulation.world(rank).next_sequence++, collectives::make_call(entry, -1, bytes, 0),
                    entry.algorithm,
                    collectives::arguments_of(collectives::operation(OperationKind::allgather),
                                              {.contribution = own.data(), .data = all.data()}, bytes, simulation.size(), false)) {}
    bool has(int source) const {
        const std::size_t size = own.size(), at = static_cast<std::size_t>(source) * size;
        return std::all_of(all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(at + size),
                           [&](std::byte byte) { return byte == static_cast<std::byte>(source + 1); });
    }
    int rank;
    std::vector<std::byte> own, all;
    Operation operation;
};

/// A job of which each rank makes one allgather.
struct Gathering {
    explicit Gathering(const Simulation::Options& options, std::uint64_t bytes = kBytes) : simulation(options) {
        for (int rank = 0; rank < options.ranks; ++rank) calls.push_back(std::make_unique<OneAllgather>(simulation, rank, bytes));
    }
    OneAllgather& at(int rank) { return *calls[static_cast<std::size_t>(rank)]; }
    void begin(int rank) {
        simulation.engine(rank).begin(at(rank).operation);
        simulation.network().run();
    }
    void begin_all_but(int but) {
        for (const auto& call : calls)
            if (call->rank != but) simulation.engine(call->rank).begin(call->operation);
        simulation.network().run();
    }
    void expect_clean() {
        for (int rank = 0; rank < simulation.size(); ++rank) {
            EXPECT_EQ(simulation.engine(rank).landing().used(), 0u) << rank;
            EXPECT_EQ(simulation.engine(rank).deputies_under_way(), 0u) << rank;
            EXPECT_EQ(simulation.engine(rank).early_messages(), 0u) << rank;
        }
    }
    /// Every rank has been told this of its call, or would be told by its next one.
    void expect_all_told(const std::vector<std::string>& words) {
        for (int rank = 0; rank < simulation.size(); ++rank) {
            const Error* const error = simulation.world(rank).broken.get();
            ASSERT_TRUE(error) << rank;
            for (const std::string& word : words)
                EXPECT_NE(std::string(error->what()).find(word), std::string::npos) << rank << ": " << error->what();
        }
    }
    Simulation simulation;
    std::vector<std::unique_ptr<OneAllgather>> calls;
};

Times all_but(int n, int late, Nanoseconds when) {
    Times arrivals(static_cast<std::size_t>(n), 0);
    arrivals[static_cast<std::size_t>(late)] = when;
    return arrivals;
}

// Between n ranks a block takes n - 1 messages to go round. By then every rank, the late one too, has all blocks but that of the late rank,
// and it alone goes round afterwards.
TEST(Forwarding, ALateRankKeepsBackItsOwnBlockOnly) {
    for (const int n : {3, 8, 16})
        for (const int late : {0, 1, n - 1})
            for (const Nanoseconds after : {n * kMessage, 50 * n * kMessage}) {
                SCOPED_TRACE(fmt::format("n={} late={} by {}", n, late, after));
                const auto outcome = run(machine(n, 0), ring(), -1, kBytes, 0, all_but(n, late, after));
                // It comes to a rank at each distance in so many messages, and all but the last one have passed it on then.
                for (int distance = 1; distance < n; ++distance)
                    EXPECT_EQ(outcome.exits[static_cast<std::size_t>((late + distance) % n)],
                              after + std::min(distance + 1, n - 1) * kMessage);
                EXPECT_EQ(outcome.exits[static_cast<std::size_t>(late)], after + kMessage) << "it sends its block, and has all others";
                // Otherwise its neighbour gets them all when it has come.
                const auto coupled = run(machine(n, 0, false), ring(), -1, kBytes, 0, all_but(n, late, after));
                EXPECT_EQ(coupled.exits[static_cast<std::size_t>((late + 1) % n)], after + (n - 1) * kMessage);
            }
}

// The same, looked at from the memory of the ranks.
TEST(Forwarding, BlocksHaveComeBeforeTheLateRank) {
    for (const int n : {2, 3, 8, 16})
        for (const int late : {0, n - 1}) {
            SCOPED_TRACE(fmt::format("n={} late={}", n, late));
            Gathering made(machine(n, 0));
            made.begin_all_but(late);
            for (int to = 0; to < n; ++to)
                for (int source = 0; source < n; ++source) {
                    if (to != late) {
                        EXPECT_EQ(made.at(to).has(source), source != late) << source << " at " << to;
                    }
                }
            EXPECT_EQ(made.simulation.engine(late).deputies_under_way(), 1u);
            EXPECT_EQ(made.simulation.engine(late).landing().used(), static_cast<std::uint64_t>(n - 1) * kBytes) << "all have landed";
            made.begin(late);
            for (int to = 0; to < n; ++to) {
                ASSERT_TRUE(made.at(to).operation.done());
                EXPECT_EQ(made.at(to).operation.error(), nullptr);
                for (int source = 0; source < n; ++source) EXPECT_TRUE(made.at(to).has(source)) << source << " at " << to;
            }
            made.expect_clean();
        }
}

// No rank is done later than if all ranks had come with the last one, apart from copies of what has landed, and from a message that is
// under way when the last rank comes. If several ranks come late together, the early ones have each other's blocks by then: a rank still
// gets one block of each late rank, the last one from the farthest, and passes it on.
TEST(Forwarding, NobodyWaitsLongerThanForTheLastRanks) {
    constexpr double kGamma = 0.25;
    Random random(76);
    for (int repetition = 0; repetition < repetitions(400); ++repetition) {
        const int n = static_cast<int>(random.between(2, 40));
        const bool together = random.chance(0.5);
        const Nanoseconds late = n * kMessage * static_cast<Nanoseconds>(random.between(2, 5));
        Times arrivals = random_delays(random, n, 0, 2 * n * kMessage);
        if (together)
            for (Nanoseconds& arrival : arrivals) arrival = random.chance(0.3) ? late : 0;
        SCOPED_TRACE(fmt::format("n={} {}", n, testing::PrintToString(arrivals)));
        const auto outcome = run(machine(n, kGamma), ring(), -1, kBytes, 0, arrivals);
        const Nanoseconds last = *std::max_element(arrivals.begin(), arrivals.end()), copies = n * copy_time(kGamma, kBytes);
        for (int rank = 0; rank < n; ++rank) {
            const Nanoseconds exit = outcome.exits[static_cast<std::size_t>(rank)];
            EXPECT_LE(exit, last + n * kMessage + copies) << rank;
            if (!together || last == 0) continue;
            int come_late = 0, farthest = 0;
            for (int distance = 1; distance < n; ++distance)
                if (arrivals[static_cast<std::size_t>((rank + n - distance) % n)] == late) ++come_late, farthest = distance;
            EXPECT_LE(exit, last + (farthest + come_late + 1) * kMessage + copies) << rank;
        }
        if (HasFailure()) return;
    }
}

// Blocks for which there is no room stay at their senders until the caller comes, as without forwarding.
TEST(Forwarding, WithoutRoomBlocksWait) {
    constexpr int kRanks = 6, kLate = 2;
    auto options = machine(kRanks, 0);
    options.landing_bytes = 4 * kBytes;  // Half of it is for messages that travel with their header.
    Gathering made(options);
    made.begin_all_but(kLate);
    EXPECT_EQ(made.simulation.engine(kLate).landing().used(), 2 * kBytes);
    int come = 0;
    for (int source = 0; source < kRanks; ++source) come += made.at(kLate + 1).has(source);
    EXPECT_EQ(come, 1 + 2) << "its own block, and two that were passed on";
    made.begin(kLate);
    for (int to = 0; to < kRanks; ++to)
        for (int source = 0; source < kRanks; ++source) EXPECT_TRUE(made.at(to).has(source)) << source << " at " << to;
    made.expect_clean();
}

// Such a part takes no memory. So it does not wait behind a long message for which there is no room.
TEST(Forwarding, BeginsThoughAMessageWaitsForRoom) {
    constexpr int kRanks = 4, kLate = 2;
    constexpr std::uint64_t kShort = 50, kLong = 1500;
    auto options = machine(kRanks, 0);
    options.landing_bytes = 4000;  // Half of it is for messages that travel with their header.
    Gathering made(options, kShort);
    Messages messages(made.simulation);
    for (const std::uint64_t number : {1, 2}) messages.send(0, kLate, 7, kLong, number, 0);
    made.simulation.network().run();
    ASSERT_EQ(made.simulation.engine(kLate).landing().used(), kLong) << "the second one waits";
    made.begin_all_but(kLate);
    EXPECT_EQ(made.simulation.engine(kLate).deputies_under_way(), 1u);
    for (int source = 0; source < kRanks; ++source) EXPECT_EQ(made.at(kLate + 1).has(source), source != kLate) << source;
    made.begin(kLate);
    for (int to = 0; to < kRanks; ++to)
        for (int source = 0; source < kRanks; ++source) EXPECT_TRUE(made.at(to).has(source)) << source << " at " << to;
    for (const std::uint64_t number : {1, 2}) {
        const runtime::Transfer& received = messages.receive(kLate, 0, 7, kLong, 0);
        made.simulation.network().run();
        EXPECT_TRUE(Messages::holds(received, kLong, number));
    }
    made.expect_clean();
}

TEST(Forwarding, ABlockThatWaitsCostsTheSameHoweverManyDo) {
    constexpr std::uint64_t kShort = 100;
    std::uint64_t each[2] = {};
    for (const int i : {0, 1}) {
        auto options = machine(i ? 200 : 20, 0);
        options.landing_bytes = 4 * kShort;
        Gathering made(options, kShort);
        made.begin_all_but(0);
        each[i] = made.simulation.engine(0).steps() / static_cast<std::uint64_t>(options.ranks);
    }
    EXPECT_LE(each[1], 2 * each[0] + 10);
}

// In the other algorithms a rank has nothing to pass on without its own block, or passes nothing on: blocks only land.
TEST(Forwarding, OnlyWhereTheCatalogueSaysSo) {
    runtime::Group group;
    group.size = 4;
    group.nodes = std::make_shared<runtime::Nodes>(runtime::Nodes{.of = {0, 0, 1, 1}, .members = {{0, 1}, {2, 3}}});
    int forwarding = 0;
    for (const OperationKind kind : {OperationKind::allgather, OperationKind::alltoall})
        for (const AlgorithmEntry* const entry : algorithms(kind)) {
            const auto call = collectives::make_call(*entry, -1, kBytes, 0);
            const auto part = collectives::part_alone(call, 2, group);
            const bool in_node_only = entry->needs.contains(collectives::Condition::several_nodes);
            EXPECT_EQ(collectives::part_alone(call, 3, group).begins_before, entry->forwards && !in_node_only) << entry->name;
            EXPECT_EQ(part.begins_before, entry->forwards) << entry->name;
            EXPECT_FALSE(part.ends_after) << entry->name;
            forwarding += entry->forwards;
        }
    EXPECT_GE(forwarding, 1);
}

TEST(Forwarding, TheOthersMayBeManyCallsAhead) {
    Random random(77);
    for (int repetition = 0; repetition < repetitions(60); ++repetition) {
        const int n = static_cast<int>(random.between(2, 9));
        auto options = machine(n, random.pick(std::vector<double>{0, 0.5}));
        options.eager_bytes = random.pick(std::vector<std::uint64_t>{0, 64, 1000});
        if (random.chance(0.5)) options.landing_bytes = random.between(1, 40'000);
        std::vector<Step> steps;
        for (int i = 0; i < 12; ++i) {
            // A broadcast and a gather go on without the ranks that contribute, so calls of ranks that forward overlap.
            Step step;
            const std::uint64_t kind = random.below(3);
            step.entry = kind == 0 ? &ring()
                                   : &collectives::find_algorithm(kind == 1 ? OperationKind::broadcast : OperationKind::gather, "binomial");
            step.root = kind == 0 ? -1 : static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
            step.bytes = random.between(0, 3000);
            step.at_once = random.chance(0.5);
            step.in_place = random.chance(0.3);
            step.delays = random_delays(random, n, 0, random.pick(std::vector<Nanoseconds>{0, 1000, 100'000}));
            if (random.chance(0.3)) plan_at_random(random, step);
            steps.push_back(std::move(step));
        }
        expect_right_results(options, steps);
        if (HasFailure()) return;
    }
}

TEST(Forwarding, AnotherCallThanTheOneThatIsPassedOnIsNamed) {
    constexpr int kRanks = 4, kOdd = 2;
    for (const bool other_size : {true, false}) {
        Gathering made(machine(kRanks, 0));
        made.begin_all_but(kOdd);
        auto& world = made.simulation.world(kOdd);
        --world.next_sequence;
        const AlgorithmEntry& entry = other_size ? ring() : allgather("ring");
        OneAllgather odd(made.simulation, kOdd, other_size ? kBytes + 8 : kBytes, entry);
        made.simulation.engine(kOdd).begin(odd.operation);
        made.simulation.network().run();
        ASSERT_TRUE(odd.operation.done());
        ASSERT_TRUE(odd.operation.error());
        EXPECT_EQ(odd.operation.error()->code(), ErrorCode::mismatch);
        if (other_size)
            made.expect_all_told({"rank 2 called allgather(1008 bytes)", "rank 1 called allgather(1000 bytes)"});
        else
            made.expect_all_told({fmt::format("rank 2 called allgather(1000 bytes) with algorithm {}", entry.number),
                                  fmt::format("rank 1 called allgather(1000 bytes) with algorithm {}", ring().number)});
        made.expect_clean();
    }
}

// Rank 3 has its message from rank 2, whose caller makes no call at all. The error names the rank whose call rank 2 has passed on.
TEST(Forwarding, AMessageThatWasPassedOnIsBlamedOnItsCaller) {
    Gathering made(machine(4, 0));
    made.begin(1);
    ASSERT_EQ(made.simulation.engine(2).deputies_under_way(), 1u);
    ASSERT_EQ(made.simulation.engine(3).deputies_under_way(), 1u);
    --made.simulation.world(3).next_sequence;
    OneAllgather odd(made.simulation, 3, kBytes + 8);
    made.simulation.engine(3).begin(odd.operation);
    made.simulation.network().run();
    made.expect_all_told({"rank 1 called allgather(1000 bytes), rank 3 called allgather(1008 bytes)"});
    made.expect_clean();
}

TEST(Forwarding, WhoGoesToTheEndInsteadOfCallingIsNamed) {
    Gathering made(machine(4, 0));
    made.begin_all_but(2);
    made.simulation.engine(2).expect_no_call();
    made.simulation.network().run();
    made.expect_all_told({"rank 2 called finalize", "called allgather"});
    made.expect_clean();
    for (const auto& call : made.calls)
        if (call->rank != 2) {
            EXPECT_TRUE(call->operation.done());
        }
}

// A caller whose part has begun without it needs its result, so nobody can go on in its place when it gives up.
TEST(Forwarding, WhoGivesUpBreaksTheCall) {
    for (const bool planned : {false, true}) {
        Gathering made(machine(4, 0));
        made.begin(1);
        ASSERT_EQ(made.simulation.engine(2).deputies_under_way(), 1u);
        Operation& operation = made.at(2).operation;
        if (planned) operation.await_caller();
        made.begin(2);
        EXPECT_FALSE(operation.done()) << "ranks 0 and 3 have not come";
        operation.abandon(made.simulation.engine(2), Error(ErrorCode::timeout, "it took too long"));
        made.simulation.network().run();
        ASSERT_TRUE(operation.done());
        ASSERT_TRUE(operation.error());
        EXPECT_EQ(operation.error()->code(), ErrorCode::timeout);
        for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(made.simulation.world(rank).broken->code(), ErrorCode::timeout);
        made.expect_clean();
    }
}

// The rank that dies has passed blocks on and not come; or it has come, and one that has not is told when it comes.
TEST(Forwarding, ADeathIsTold) {
    constexpr int kRanks = 5, kLate = 2;
    for (const int victim : {2, 0}) {
        Gathering made(machine(kRanks, 0));
        made.begin_all_but(kLate);
        made.simulation.kill(victim, "was killed", [](int) { return Nanoseconds{10}; });
        made.simulation.network().run();
        if (victim != kLate) made.begin(kLate);
        for (const auto& call : made.calls) {
            if (call->rank == victim) continue;
            ASSERT_TRUE(call->operation.done()) << call->rank;
            ASSERT_TRUE(call->operation.error()) << call->rank;
            EXPECT_EQ(call->operation.error()->code(), ErrorCode::peer_failed);
            EXPECT_EQ(call->operation.error()->failed_rank(), victim);
            EXPECT_EQ(made.simulation.engine(call->rank).landing().used(), 0u);
            EXPECT_EQ(made.simulation.engine(call->rank).deputies_under_way(), 0u);
        }
    }
}

}  // namespace
}  // namespace rollcall::model_test::decoupled
