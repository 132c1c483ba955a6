// Calls that begin before their callers and go on after them (runtime/engine/deputy.hpp).
#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/blocks.hpp"
#include "tests/model/decoupled.hpp"

namespace rollcall::model_test::decoupled {
namespace {

std::vector<const AlgorithmEntry*> decoupled_algorithms() {
    auto found = moving_algorithms();
    std::erase_if(found, [](const AlgorithmEntry* entry) { return !entry->runs_alone && !entry->forwards; });
    return found;
}

// The claim of the whole design: with enough landing memory, a rank is done no later than one copy after its own arrival, or after the
// root's arrival plus its time in the call when all arrive together. In both calls the root hands over.
TEST(Decoupled, NobodyWaitsForALateRankButTheRoot) {
    constexpr double kGamma = 0.25;
    Random random(71);
    for (int repetition = 0; repetition < repetitions(400); ++repetition) {
        const int n = static_cast<int>(random.between(2, 40));
        const int root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
        const std::uint64_t bytes = random.between(100, 20'000);
        const std::uint64_t segment = random.pick(std::vector<std::uint64_t>{0, 500, 4000});
        const Times arrivals = random_delays(random, n, root, 100'000);
        for (const AlgorithmEntry* const entry : algorithms(OperationKind::broadcast)) {
            if (!entry->runs_alone) continue;
            SCOPED_TRACE(fmt::format("{} n={} root={} bytes={} segment={} {}", entry->name, n, root, bytes, segment,
                                     testing::PrintToString(arrivals)));
            const std::uint64_t piece = entry->segmented ? segment : 0;
            const auto balanced = run(machine(n, kGamma), *entry, root, bytes, piece, Times(static_cast<std::size_t>(n), 0));
            const auto outcome = run(machine(n, kGamma), *entry, root, bytes, piece, arrivals);
            const Nanoseconds copy = copy_time(kGamma, bytes), begun = arrivals[static_cast<std::size_t>(root)];
            for (int rank = 0; rank < n; ++rank) {
                const auto at = static_cast<std::size_t>(rank);
                EXPECT_LE(outcome.exits[at], std::max(arrivals[at], begun + balanced.exits[at]) + copy) << "rank " << rank;
            }
            EXPECT_LE(outcome.exits[static_cast<std::size_t>(root)], begun + copy) << "the root has handed over";
            if (HasFailure()) return;
        }
    }
}

// Without deputies, late ranks do delay others. So the claim above does not hold anyway.
TEST(Decoupled, WithoutItALateRankKeepsOthers) {
    const AlgorithmEntry& chain = broadcast("pipelined");
    const Times arrivals = {0, 1'000'000, 0, 0};
    EXPECT_GT(run(machine(4, 0, false), chain, 0, 1000, 100, arrivals).exits[3], 1'000'000);
    EXPECT_LT(run(machine(4, 0), chain, 0, 1000, 100, arrivals).exits[3], 10'000);
}

TEST(Decoupled, WhoOnlyContributesLeavesAfterACopy) {
    constexpr double kGamma = 0.5;
    for (const AlgorithmEntry* const entry : algorithms(OperationKind::gather)) {
        if (entry->name != "linear") continue;
        const Times arrivals = {1'000'000, 0, 70, 300};
        const auto outcome = run(machine(4, kGamma), *entry, 0, 1000, 0, arrivals);
        for (std::size_t rank = 1; rank < 4; ++rank) EXPECT_LE(outcome.exits[rank], arrivals[rank] + copy_time(kGamma, 1000)) << rank;
        EXPECT_GE(outcome.exits[0], arrivals[0]);
    }
}

// In these reductions a rank exchanges with others, although it needs no result. Its part goes on without it.
TEST(Decoupled, WhoOnlyContributesToAReductionLeavesAfterACopy) {
    constexpr double kGamma = 0.5;
    for (const char* const name : {"linear", "binomial", "pipelined", "rabenseifner", "ring", "radix_k", "circulant"})
        for (const int n : {4, 6, 7}) {
            SCOPED_TRACE(fmt::format("{} n={}", name, n));
            Times arrivals(static_cast<std::size_t>(n), 300);
            arrivals[0] = 1'000'000;
            arrivals[1] = 0;
            const auto& entry = collectives::find_algorithm(OperationKind::reduce, name);
            const auto outcome = run(machine(n, kGamma), entry, 0, 1000, entry.segmented ? 250 : 0, arrivals);
            for (std::size_t rank = 1; rank < arrivals.size(); ++rank)
                EXPECT_LE(outcome.exits[rank], arrivals[rank] + copy_time(kGamma, 1000)) << rank;
            EXPECT_GE(outcome.exits[0], arrivals[0]);
        }
}

TEST(Decoupled, TheRootOfAScatterLeavesAfterACopy) {
    constexpr double kGamma = 0.5;
    int tried = 0;
    for (const AlgorithmEntry* const entry : algorithms(OperationKind::scatter)) {
        // Here all ranks are on one node.
        if (!entry->runs_alone || entry->needs.contains(collectives::Condition::several_nodes)) continue;
        ++tried;
        const Times arrivals = {300, 0, 70, 1'000'000};
        const auto outcome = run(machine(4, kGamma), *entry, 0, 1000, 0, arrivals);
        EXPECT_LE(outcome.exits[0], arrivals[0] + copy_time(kGamma, 4 * 1000) + copy_time(kGamma, 1000)) << entry->name;
        EXPECT_GT(run(machine(4, kGamma, false), *entry, 0, 1000, 0, arrivals).exits[0], outcome.exits[0]) << entry->name;
    }
    EXPECT_EQ(tried, 2);
}

// The same for blocks of different sizes, with data. A root whose blocks leave gaps stays, because what is in the gaps is not its to read.
TEST(Decoupled, WithBlocksOfOwnSizes) {
    constexpr double kGamma = 0.5;
    const Times arrivals = {300, 0, 70, 1'000'000};
    for (const OperationKind kind : {OperationKind::gather, OperationKind::scatter})
        for (const bool gap : {false, true}) {
            const bool is_gather = kind == OperationKind::gather;
            const AlgorithmEntry& linear = collectives::find_algorithm(kind, "linear");
            const std::uint64_t shift = gap ? 10 : 0;
            BlocksCall call{.entry = linear,
                            .root = is_gather ? 3 : 0,
                            .blocks = {{3000, 1000}, {0, 3000}, {4000, 200}, {4200 + shift, 500}},
                            .own_sizes = {1000, 3000, 200, 500}};
            call.fill();
            SCOPED_TRACE(call.text());
            Simulation simulation(machine(4, kGamma));
            const auto outcome = simulation.run([&](int rank) { return call.of(rank); }, arrivals);
            for (const auto& error : outcome.errors) ASSERT_EQ(error, nullptr) << error->what();
            call.expect_moved();
            for (int rank = 0; rank < 4; ++rank) {
                if ((rank == call.root) == is_gather) continue;
                const auto at = static_cast<std::size_t>(rank);
                const auto copied = copy_time(kGamma, is_gather ? call.own_sizes[at] : 4700 + call.own_sizes[at]) + 1;
                EXPECT_EQ(outcome.exits[at] <= arrivals[at] + copied, is_gather || !gap) << "rank " << rank;
            }
        }
}

// The others are many calls ahead of a rank that comes late. The data is real.
TEST(Decoupled, ManyCallsAhead) {
    Random random(72);
    for (int repetition = 0; repetition < repetitions(60); ++repetition) {
        const int n = static_cast<int>(random.between(2, 9));
        auto options = machine(n, random.pick(std::vector<double>{0, 0.5}));
        if (random.chance(0.5)) options.landing_bytes = random.between(1, 40'000);
        std::vector<Step> steps;
        for (int i = 0; i < 30; ++i) {
            Step step;
            step.entry = random.pick(decoupled_algorithms());
            step.root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
            step.bytes = random.between(0, 5000);
            step.segment = step.entry->segmented ? random.pick(std::vector<std::uint64_t>{0, 700}) : 0;
            step.delays.assign(static_cast<std::size_t>(n), 0);
            if (i == 0) step.delays[random.below(static_cast<std::uint64_t>(n))] = 10'000'000;
            steps.push_back(std::move(step));
        }
        expect_right_results(options, steps);
        if (HasFailure()) return;
    }
}

// A rank that is late has room for the data of two calls. When it has taken the first one, the data of the third lands.
TEST(Decoupled, WhatWaitsForRoomLandsWhenACallerHasTakenItsData) {
    constexpr std::uint64_t kBytes = 5000;
    auto options = machine(2, 0);
    options.landing_bytes = 5 * kBytes;
    Simulation simulation(options);
    const AlgorithmEntry& entry = broadcast("linear");
    std::vector<std::unique_ptr<HandMade>> sent, taken;
    for (int i = 0; i < 3; ++i) {
        sent.push_back(std::make_unique<HandMade>(simulation, 0, entry, 0, kBytes, std::byte(i + 1)));
        sent.back()->operation->stay();
        sent.back()->operation->begin(simulation.engine(0));
    }
    simulation.network().run();
    const auto& landing = simulation.engine(1).landing();
    ASSERT_EQ(landing.used(), 2 * kBytes);
    ASSERT_FALSE(sent.back()->operation->done());
    taken.push_back(std::make_unique<HandMade>(simulation, 1, entry, 0, kBytes, std::byte{0}));
    taken.back()->operation->begin(simulation.engine(1));
    simulation.network().run();
    EXPECT_TRUE(taken.back()->operation->done());
    EXPECT_EQ(taken.back()->memory, sent.front()->memory);
    EXPECT_TRUE(sent.back()->operation->done()) << "its data has left";
    EXPECT_EQ(landing.used(), 2 * kBytes);
    for (int i = 1; i < 3; ++i) {
        taken.push_back(std::make_unique<HandMade>(simulation, 1, entry, 0, kBytes, std::byte{0}));
        taken.back()->operation->begin(simulation.engine(1));
        simulation.network().run();
        EXPECT_EQ(taken.back()->memory, sent[static_cast<std::size_t>(i)]->memory);
    }
    EXPECT_EQ(landing.used(), 0u);
}

TEST(Decoupled, WhoGivesUpACallLeavesItsPartToTheOthers) {
    Simulation simulation(machine(3, 0));
    const AlgorithmEntry& chain = broadcast("pipelined");
    // The root has not come, so rank 1 waits. It gives up when its part has begun. Rank 2 must still get the data.
    HandMade root(simulation, 0, chain, 0, 5000, std::byte{7}), middle(simulation, 1, chain, 0, 5000, std::byte{0}),
        last(simulation, 2, chain, 0, 5000, std::byte{0});
    Later first{simulation, root}, second{simulation, middle}, third{simulation, last};
    auto& network = simulation.network();
    network.schedule(0, &Later::begin, &first, 0);
    network.schedule(4000, &Later::begin, &second, 1);  // Its part has begun: the message is on its way.
    network.schedule(4100, &Later::abandon, &second, 1);
    network.schedule(100'000, &Later::begin, &third, 2);
    network.run();
    ASSERT_TRUE(middle.operation->done());
    ASSERT_TRUE(middle.operation->error());
    EXPECT_EQ(middle.operation->error()->code(), ErrorCode::timeout);
    ASSERT_TRUE(last.operation->done());
    EXPECT_EQ(last.operation->error(), nullptr);
    EXPECT_EQ(last.memory, std::vector<std::byte>(5000, std::byte{7}));
    EXPECT_FALSE(simulation.world(1).broken) << "its communicator is in step with the others";
    for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(simulation.engine(rank).landing().used(), 0u);
}

// One rank will never make the call that the others have made. The error names it.
TEST(Decoupled, WhoGoesToTheEndInsteadOfCallingIsNamed) {
    Simulation simulation(machine(3, 0));
    const AlgorithmEntry& chain = broadcast("pipelined");
    HandMade root(simulation, 0, chain, 0, 5000, std::byte{7});
    simulation.engine(0).begin(*root.operation);
    simulation.network().run();
    ASSERT_TRUE(root.operation->done());
    simulation.engine(2).expect_no_call();
    simulation.network().run();
    for (int rank = 0; rank < 3; ++rank) {
        const Error* error = simulation.world(rank).broken.get();
        ASSERT_TRUE(error) << rank;
        EXPECT_NE(std::string(error->what()).find("rank 0 called broadcast"), std::string::npos) << error->what();
        EXPECT_NE(std::string(error->what()).find("rank 2 called finalize"), std::string::npos) << error->what();
    }
}

// Parts that have ended keep their data for their callers, until it is known that no caller will take it.
TEST(Decoupled, WhatNoCallerWillTakeTakesNoMemory) {
    constexpr std::uint64_t kBytes = 5000;
    for (const bool is_finalized : {false, true}) {
        Simulation simulation(machine(3, 0));
        std::vector<std::unique_ptr<HandMade>> calls;
        for (int i = 0; i < 2; ++i) {
            calls.push_back(std::make_unique<HandMade>(simulation, 0, broadcast("linear"), 0, kBytes, std::byte{7}));
            simulation.engine(0).begin(*calls.back()->operation);
        }
        simulation.network().run();
        ASSERT_EQ(simulation.engine(1).landing().used(), 2 * kBytes);
        ASSERT_EQ(simulation.engine(1).deputies_under_way(), 0u) << "they have ended";
        if (is_finalized)
            simulation.engine(1).expect_no_call();
        else
            simulation.kill(2, "was killed", [](int) { return Nanoseconds{10}; });
        simulation.network().run();
        EXPECT_EQ(simulation.engine(1).landing().used(), 0u);
        HandMade late(simulation, 1, broadcast("linear"), 0, kBytes, std::byte{0});
        simulation.engine(1).begin(*late.operation);
        simulation.network().run();
        ASSERT_TRUE(late.operation->done());
        EXPECT_TRUE(late.operation->error());
    }
}

TEST(Decoupled, TheNextCallTellsOfDataThatWasHandedOverAndLost) {
    Simulation simulation(machine(3, 0));
    const AlgorithmEntry& linear = collectives::find_algorithm(OperationKind::gather, "linear");
    HandMade lost(simulation, 1, linear, 0, 3000, std::byte{5}), next(simulation, 1, linear, 2, 3000, std::byte{5});
    simulation.engine(1).begin(*lost.operation);
    ASSERT_TRUE(lost.operation->done()) << "it has handed over";
    simulation.kill(0, "was killed", [](int) { return Nanoseconds{10}; });
    simulation.network().run();
    simulation.engine(1).begin(*next.operation);
    simulation.network().run();
    ASSERT_TRUE(next.operation->done());
    ASSERT_TRUE(next.operation->error());
    const std::string what = next.operation->error()->what();
    EXPECT_EQ(next.operation->error()->failed_rank(), 0);
    EXPECT_EQ(what.find("communicator world: rank 0 was killed"), 0u) << what;
    EXPECT_NE(what.find("; data that a call had handed over was not delivered: gather("), std::string::npos) << what;
}

// Rank 2 has handed over and waits for rank 3. Rank 0 sees from the message of rank 1 that the calls do not match, and tells rank 2.
TEST(Decoupled, TheNextCallSaysOnceThatCallsDidNotMatch) {
    Simulation simulation(machine(4, 0));
    const AlgorithmEntry& binomial = collectives::find_algorithm(OperationKind::gather, "binomial");
    HandMade lost(simulation, 2, binomial, 0, 3000, std::byte{5}), next(simulation, 2, binomial, 0, 3000, std::byte{5});
    HandMade other(simulation, 0, binomial, 0, 4000, std::byte{0}), matching(simulation, 1, binomial, 0, 3000, std::byte{5});
    for (const HandMade* call : {&lost, &other, &matching}) simulation.engine(call->rank).begin(*call->operation);
    ASSERT_TRUE(lost.operation->done()) << "it has handed over";
    tell_all(simulation);
    simulation.engine(2).begin(*next.operation);
    simulation.network().run();
    ASSERT_TRUE(next.operation->error());
    const std::string what = next.operation->error()->what();
    EXPECT_NE(what.find("data that a call had handed over was not delivered: "), std::string::npos) << what;
    EXPECT_NE(what.find("4000 bytes"), std::string::npos) << what;
    EXPECT_EQ(what.find("4000 bytes"), what.rfind("4000 bytes")) << what;
}

using States = std::vector<std::unique_ptr<runtime::CommunicatorState>>;

/// Makes a communicator of all ranks.
States make_communicator(Simulation& simulation) {
    auto group = std::make_shared<runtime::Group>();
    group->name = "made";
    group->size = simulation.size();
    States states;
    std::vector<std::uint64_t> numbers;
    for (int rank = 0; rank < simulation.size(); ++rank) numbers.push_back(simulation.engine(rank).expect_communicator());
    group->id = *std::max_element(numbers.begin(), numbers.end());
    for (int rank = 0; rank < simulation.size(); ++rank) {
        simulation.engine(rank).add(*states.emplace_back(std::make_unique<runtime::CommunicatorState>(group, rank)));
        simulation.engine(rank).stop_expecting(numbers[static_cast<std::size_t>(rank)]);
    }
    return states;
}

// A communicator may be destroyed before the data that was handed over in it has been taken.
TEST(Decoupled, ACommunicatorStaysUntilWhatWasHandedOverHasLeft) {
    Simulation simulation(machine(2, 0));
    States states = make_communicator(simulation);
    const AlgorithmEntry& linear = collectives::find_algorithm(OperationKind::gather, "linear");
    const OperationRow& row = collectives::operation(OperationKind::gather);
    std::vector<std::byte> mine(3000, std::byte{5}), all(6000);
    const auto begin = [&](int rank, std::uint64_t sequence, bool stays) {
        auto operation = std::make_unique<Operation>(
            *states[static_cast<std::size_t>(rank)], sequence, collectives::make_call(linear, 0, 3000, 0), linear.algorithm,
            collectives::arguments_of(row, {.contribution = mine.data(), .data = all.data(), .result = nullptr}, 3000, 2, rank == 0));
        if (stays) operation->stay();
        simulation.engine(rank).begin(*operation);
        return operation;
    };
    const auto staying = begin(1, 1, true);
    EXPECT_FALSE(staying->done()) << "it waits until the data has left";
    const auto taking = begin(0, 1, false);
    simulation.network().run();
    EXPECT_TRUE(staying->done() && taking->done());
    const auto sender = begin(1, 2, false);
    EXPECT_TRUE(sender->done()) << "it has handed over";
    EXPECT_EQ(simulation.engine(1).deputies_under_way(), 1u);
    std::fill(mine.begin(), mine.end(), std::byte{9});  // The rank may use its memory again.
    simulation.engine(1).retire(std::move(states[1]));
    const auto receiver = begin(0, 2, false);
    std::fill(mine.begin(), mine.end(), std::byte{5});
    simulation.network().run();
    ASSERT_TRUE(receiver->done());
    EXPECT_EQ(receiver->error(), nullptr);
    EXPECT_EQ(all, std::vector<std::byte>(6000, std::byte{5}));
    EXPECT_EQ(simulation.engine(1).deputies_under_way(), 0u);
    EXPECT_EQ(simulation.engine(1).landing().used(), 0u);
    simulation.engine(0).retire(std::move(states[0]));
}

// The same communicator: another rank makes one more call and waits for the rank that makes no more. It is told so, although the data has
// not left.
TEST(Decoupled, WhoWaitsForARankThatHasDestroyedTheCommunicatorIsTold) {
    Simulation simulation(machine(3, 0));
    States states = make_communicator(simulation);
    ASSERT_TRUE(simulation.engine(0).landing().reserve(simulation.engine(0).landing().budget())) << "the data waits at its senders";
    const AlgorithmEntry& linear = collectives::find_algorithm(OperationKind::gather, "linear");
    std::vector<std::byte> mine(3000);
    std::vector<std::unique_ptr<Operation>> handed_over;
    for (const int rank : {1, 2}) {
        handed_over.push_back(std::make_unique<Operation>(
            *states[static_cast<std::size_t>(rank)], 1, collectives::make_call(linear, 0, 3000, 0), linear.algorithm,
            collectives::arguments_of(collectives::operation(OperationKind::gather), {.contribution = mine.data()}, 3000, 3, false)));
        simulation.engine(rank).begin(*handed_over.back());
        ASSERT_TRUE(handed_over.back()->done());
    }
    simulation.engine(1).retire(std::move(states[1]));
    ASSERT_EQ(simulation.engine(1).deputies_under_way(), 1u);
    const AlgorithmEntry& entry = collectives::find_algorithm(OperationKind::barrier, "dissemination");
    Operation barrier(*states[2], 2, collectives::make_call(entry, -1, 0, 0), entry.algorithm, Arguments());
    simulation.engine(2).begin(barrier);
    simulation.network().run();
    for (int second = 1; second <= 3 && !barrier.done(); ++second) {
        simulation.engine(2).tick(second * kSecond);
        simulation.network().run();
    }
    EXPECT_EQ(simulation.engine(1).deputies_under_way(), 1u);
    ASSERT_TRUE(barrier.done());
    ASSERT_TRUE(barrier.error());
    EXPECT_EQ(barrier.error()->failed_rank(), 1);
    EXPECT_NE(std::string(barrier.error()->what()).find("rank 1 has destroyed its communicator (or plan) after 1 operations"),
              std::string::npos)
        << barrier.error()->what();
}

}  // namespace
}  // namespace rollcall::model_test::decoupled
