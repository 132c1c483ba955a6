// Ranks that collect what others bring before their own callers come (PartAlone::collected).
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/trees/binary.hpp"
#include "collectives/trees/halving.hpp"
#include "tests/model/blocks.hpp"
#include "tests/model/decoupled.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::model_test::decoupled {
namespace {

const AlgorithmEntry& binomial(OperationKind kind) { return collectives::find_algorithm(kind, "binomial"); }
const AlgorithmEntry& binary() { return collectives::find_algorithm(OperationKind::reduce, "binary"); }
const AlgorithmEntry& chain() { return collectives::find_algorithm(OperationKind::reduce, "pipelined"); }

runtime::Group group_of(int ranks) {
    runtime::Group group;
    group.size = ranks;
    return group;
}

TEST(Collecting, TheSizeOfASubtreeIsThatOfTheTree) {
    for (int n = 1; n < 70; ++n)
        for (int root = 0; root < n; root += 1 + n / 5)
            for (int rank = 0; rank < n; ++rank) {
                if (rank == root) continue;
                const auto place = collectives::halving_place(n, root, rank);
                ASSERT_EQ(collectives::halving_blocks(n, root, rank), place.blocks) << n << " " << root << " " << rank;
                ASSERT_EQ(collectives::part_alone(collectives::make_call(binomial(OperationKind::gather), root, 10, 0), rank, group_of(n))
                              .begins_before,
                          !place.children.empty());
            }
}

// Only what needs the late caller's data is done after it has come. Ranks 2 and 3 are a subtree.
TEST(Collecting, ALateRankHasCollectedBeforeItComes) {
    constexpr double kGamma = 0.5;
    constexpr Nanoseconds kLate = 1'000'000, kCopy = 500, kAlpha = 20;
    const Times arrivals = {0, 0, kLate, 0};
    // Gather: the caller's block is copied, and put before that of rank 3. Both go to the root, which copies its own block at last.
    const auto gather = run(machine(4, kGamma), binomial(OperationKind::gather), 0, 1000, 0, arrivals);
    EXPECT_EQ(gather.exits[2], kLate + kCopy) << "it leaves after a copy";
    EXPECT_EQ(gather.exits[0], kLate + kCopy + kCopy + (kAlpha + 2000) + kCopy);
    // Reduce: the caller's elements are copied, and combined with those of rank 3.
    const auto reduce = run(machine(4, kGamma), binomial(OperationKind::reduce), 0, 1000, 0, arrivals);
    EXPECT_EQ(reduce.exits[2], kLate + kCopy);
    EXPECT_EQ(reduce.exits[0], kLate + kCopy + kCopy + (kAlpha + 1000) + kCopy);
}

// All ranks of a chain but the first one collect.
TEST(Collecting, ALateRankOfAChainHasCollectedBeforeItComes) {
    constexpr double kGamma = 0.5;
    constexpr Nanoseconds kLate = 1'000'000, kCopy = 500, kMessage = 20 + 1000;
    const auto outcome = run(machine(4, kGamma), chain(), 0, 1000, 0, {0, 0, kLate, 0});
    EXPECT_EQ(outcome.exits[2], kLate + kCopy) << "it leaves after a copy";
    // Ranks 2, 1 and 0 combine, and two messages are sent. What came from rank 3 is not copied.
    EXPECT_EQ(outcome.exits[0], kLate + kCopy + 3 * kCopy + 2 * kMessage);
    for (int n = 2; n < 9; ++n)
        for (int root = 0; root < n; ++root)
            for (int rank = 0; rank < n; ++rank)
                EXPECT_EQ(collectives::part_alone(collectives::make_call(chain(), root, 1000, 250), rank, group_of(n)).begins_before,
                          rank != root && (rank + 1) % n != root);
}

// Rank 1 of 8 has the children 2 and 4, of which rank 2 has one more. What both bring is combined before its caller comes.
TEST(Collecting, ALateRankOfABinaryTreeHasCollectedBeforeItComes) {
    constexpr double kGamma = 0.5;
    constexpr Nanoseconds kLate = 1'000'000, kCopy = 500, kMessage = 20 + 1000;
    const auto outcome = run(machine(8, kGamma), binary(), 0, 1000, 0, {0, kLate, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(outcome.exits[1], kLate + kCopy) << "it leaves after a copy";
    // Ranks 1 and 0 combine, and one message is sent; rank 0 combines what rank 5 brought after that.
    EXPECT_EQ(outcome.exits[0], kLate + kCopy + 3 * kCopy + kMessage);
    for (int n = 2; n < 9; ++n)
        for (int root = 0; root < n; ++root)
            for (int rank = 0; rank < n; ++rank) {
                const auto part = collectives::part_alone(collectives::make_call(binary(), root, 1000, 250), rank, group_of(n));
                const auto children = collectives::binary_tree(n, root, rank).children.size();
                EXPECT_EQ(part.begins_before, rank != root && children > 0);
                if (rank == root) continue;
                EXPECT_EQ(part.collected, 1000 * children);
                EXPECT_EQ(part.kept, 1000 * children) << "four pieces of each child";
                const auto numbers = reduction_of<std::int64_t>(sum);
                const auto of_numbers =
                    collectives::part_alone(collectives::make_call(binary(), root, 752, 251, numbers), rank, group_of(n));
                EXPECT_EQ(of_numbers.kept, 4 * 248 * children) << "pieces of whole numbers are smaller, and four instead of three";
            }
}

// Pieces, of which some have come when the caller does.
TEST(Collecting, ACallerMayComeAmongThePieces) {
    constexpr std::uint64_t kBytes = 8000, kPiece = 1000;
    Random random(74);
    const auto reduction = collectives::combiner_of(Reduction());
    for (int repetition = 0; repetition < repetitions(100); ++repetition) {
        const Nanoseconds late = static_cast<Nanoseconds>(random.between(1, 12'000));
        const Times arrivals = {0, static_cast<Nanoseconds>(random.between(1, 12'000)), late, 0};
        const AlgorithmEntry& entry = random.below(2) == 0 ? chain() : binary();
        SCOPED_TRACE(fmt::format("{} {}", entry.name, testing::PrintToString(arrivals)));
        std::vector<std::vector<std::byte>> elements;
        for (int rank = 0; rank < 4; ++rank) elements.emplace_back(kBytes, static_cast<std::byte>(1 + rank));
        std::vector<std::byte> sum(kBytes);
        Simulation simulation(machine(4, 0.25));
        const auto outcome = simulation.run(
            [&](int rank) {
                Simulation::RankCall call{collectives::make_call(entry, 0, kBytes, kPiece), entry.algorithm, {}};
                call.arguments = collectives::arguments_of(
                    collectives::operation(OperationKind::reduce),
                    {.contribution = elements[static_cast<std::size_t>(rank)].data(), .data = rank == 0 ? sum.data() : nullptr}, kBytes, 4,
                    rank == 0);
                call.arguments.segment_bytes = kPiece;
                call.arguments.combiner = reduction;
                return call;
            },
            arrivals);
        EXPECT_EQ(sum, std::vector<std::byte>(kBytes, std::byte{1 + 2 + 3 + 4}));
        for (const std::size_t rank : {1, 2}) EXPECT_LE(outcome.exits[rank], arrivals[rank] + copy_time(0.25, kBytes));
    }
}

// A rank that contributes leaves after a copy. The root is done no later than the last arrival plus the time that the call takes when all
// are there, apart from copies: of the last rank's data, and of what landed at ranks that had arrived and waited for another one.
TEST(Collecting, NobodyWaitsLongerThanForTheLastRank) {
    constexpr double kGamma = 0.25;
    Random random(73);
    for (int repetition = 0; repetition < repetitions(300); ++repetition) {
        const int n = static_cast<int>(random.between(2, 40));
        const int root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
        const std::uint64_t bytes = random.between(100, 20'000);
        const Times arrivals = random_delays(random, n, root, 100'000);
        const Nanoseconds last = *std::max_element(arrivals.begin(), arrivals.end());
        for (const AlgorithmEntry* const collecting :
             {&binomial(OperationKind::gather), &binomial(OperationKind::reduce), &chain(), &binary()}) {
            const AlgorithmEntry& entry = *collecting;
            SCOPED_TRACE(fmt::format("{} {} n={} root={} bytes={} {}", runtime::name(entry.operation), entry.name, n, root, bytes,
                                     testing::PrintToString(arrivals)));
            const auto balanced = run(machine(n, kGamma, false), entry, root, bytes, 0, Times(static_cast<std::size_t>(n), 0));
            const auto outcome = run(machine(n, kGamma), entry, root, bytes, 0, arrivals);
            const Nanoseconds longest = *std::max_element(balanced.exits.begin(), balanced.exits.end());
            const Nanoseconds copy = copy_time(kGamma, bytes);
            const int landed = entry.cost == &collectives::cost::binomial_combining ? std::bit_width(static_cast<unsigned>(n)) : n;
            for (int rank = 0; rank < n; ++rank) {
                const auto at = static_cast<std::size_t>(rank);
                if (rank == root)
                    EXPECT_LE(outcome.exits[at], last + longest + (2 + landed) * copy);
                else
                    EXPECT_LE(outcome.exits[at], arrivals[at] + copy) << "rank " << rank << " only contributes";
            }
            if (HasFailure()) return;
        }
    }
}

// The part of a rank with another rank below it takes memory for what that rank brings, also if its caller begins it and leaves. All of it
// counts in the landing budget.
TEST(Collecting, WhatIsHandedOverIsWhollyInTheBudget) {
    constexpr std::uint64_t kBytes = 3000;
    struct Case {
        const AlgorithmEntry& entry;
        std::uint64_t needs;
    };
    for (const auto& [entry, needs] :
         {Case{binomial(OperationKind::gather), 3 * kBytes}, Case{binomial(OperationKind::reduce), 3 * kBytes}, Case{chain(), 2 * kBytes}})
        for (const bool has_room : {true, false}) {
            SCOPED_TRACE(fmt::format("{} {} {}", runtime::name(entry.operation), entry.name, has_room));
            auto options = machine(4, 0);
            if (!has_room) options.landing_bytes = 6 * kBytes;  // Half of it is for messages that land, and a quarter may be kept.
            Simulation simulation(options);
            HandMade middle(simulation, 2, entry, 0, kBytes, std::byte{3});
            simulation.engine(2).begin(*middle.operation);
            EXPECT_EQ(middle.operation->done(), has_room) << "it leaves where there is room";
            EXPECT_EQ(simulation.engine(2).landing().used(), has_room ? needs : 0);
            if (entry.operation == OperationKind::gather) continue;
            std::vector<std::unique_ptr<HandMade>> others;
            for (const int rank : {3, 1, 0}) {
                others.push_back(std::make_unique<HandMade>(simulation, rank, entry, 0, kBytes, std::byte(rank + 1)));
                simulation.engine(rank).begin(*others.back()->operation);
                simulation.network().run();
            }
            EXPECT_TRUE(middle.operation->done());
            EXPECT_EQ(others.back()->memory, std::vector<std::byte>(kBytes, std::byte{1 + 2 + 3 + 4}));
            EXPECT_EQ(simulation.engine(2).landing().used(), 0u);
        }
}

// The binomial gather makes room itself for the blocks that rank 2 passes on. So rank 2 hands over where there is room for its own block.
TEST(Collecting, WhoPassesOnBlocksOfOwnSizesNeedsRoomForItsOwn) {
    constexpr std::uint64_t kBlock = 3000;
    BlocksCall call{.entry = binomial(OperationKind::gather),
                    .root = 0,
                    .blocks = {{0, kBlock}, {kBlock, kBlock}, {2 * kBlock, kBlock}, {3 * kBlock, kBlock}},
                    .own_sizes = std::vector<std::uint64_t>(4, kBlock)};
    for (const bool has_room : {true, false}) {
        call.fill();
        auto options = machine(4, 0);
        if (!has_room) options.landing_bytes = 4 * kBlock;  // Half of it is for messages that land, and a quarter may be kept.
        Simulation simulation(options);
        const auto outcome = simulation.run([&](int rank) { return call.of(rank); }, Times{1'000'000, 0, 0, 100'000});
        for (const auto& error : outcome.errors) ASSERT_EQ(error, nullptr) << error->what();
        call.expect_moved();
        EXPECT_LE(outcome.exits[2], copy_time(0, kBlock)) << "it leaves";
        EXPECT_LE(simulation.engine(2).landing().peak(), 2 * kBlock) << "its own block, and that of rank 3 if it comes early";
    }
}

// A rank that wants to stay until its data has left stays, whether its caller or its deputy began its part.
TEST(Collecting, WhoWantsToStayStays) {
    Simulation simulation(machine(4, 0));
    const AlgorithmEntry& entry = binomial(OperationKind::reduce);
    std::vector<std::unique_ptr<HandMade>> calls;
    for (int rank = 0; rank < 4; ++rank) calls.push_back(std::make_unique<HandMade>(simulation, rank, entry, 0, 3000, std::byte(rank + 1)));
    const auto begin = [&](int rank) {
        simulation.engine(rank).begin(*calls[static_cast<std::size_t>(rank)]->operation);
        simulation.network().run();
    };
    begin(3);
    EXPECT_EQ(simulation.engine(2).deputies_under_way(), 1u) << "rank 2 collects from rank 3";
    calls[2]->operation->stay();
    simulation.engine(2).begin(*calls[2]->operation);
    EXPECT_FALSE(calls[2]->operation->done()) << "its data has been copied, but has not left";
    simulation.network().run();
    begin(1);
    begin(0);
    for (const auto& call : calls) {
        ASSERT_TRUE(call->operation->done()) << call->rank;
        EXPECT_EQ(call->operation->error(), nullptr);
        EXPECT_EQ(simulation.engine(call->rank).landing().used(), 0u);
        EXPECT_EQ(simulation.engine(call->rank).deputies_under_way(), 0u);
    }
    EXPECT_EQ(calls[0]->memory, std::vector<std::byte>(3000, std::byte{1 + 2 + 3 + 4}));
}

// The call of a plan meets the part that has begun, and is given up before its caller arrives: then its data will never come.
TEST(Collecting, WhoGivesUpBeforeItsDataIsThereBreaksTheCall) {
    Simulation simulation(machine(4, 0));
    const AlgorithmEntry& entry = binomial(OperationKind::reduce);
    HandMade child(simulation, 3, entry, 0, 3000, std::byte{4}), middle(simulation, 2, entry, 0, 3000, std::byte{3});
    simulation.engine(3).begin(*child.operation);
    simulation.network().run();
    ASSERT_EQ(simulation.engine(2).deputies_under_way(), 1u);
    middle.operation->await_caller();
    simulation.engine(2).begin(*middle.operation);
    EXPECT_FALSE(middle.operation->done());
    middle.operation->abandon(simulation.engine(2), Error(ErrorCode::timeout, "it took too long"));
    simulation.network().run();
    ASSERT_TRUE(middle.operation->done());
    ASSERT_TRUE(middle.operation->error());
    for (int rank = 0; rank < 4; ++rank) {
        ASSERT_TRUE(simulation.world(rank).broken) << rank;
        EXPECT_EQ(simulation.world(rank).broken->code(), ErrorCode::timeout);
        EXPECT_EQ(simulation.engine(rank).deputies_under_way(), 0u);
        EXPECT_EQ(simulation.engine(rank).landing().used(), 0u);
    }
}

TEST(Collecting, AnotherCallThanTheOneThatWasBegunIsNamed) {
    for (const OperationKind other : {OperationKind::gather, OperationKind::reduce}) {
        Simulation simulation(machine(4, 0));
        HandMade child(simulation, 3, binomial(OperationKind::gather), 0, 3000, std::byte{4});
        HandMade middle(simulation, 2, binomial(other), 0, 5000, std::byte{3});
        simulation.engine(3).begin(*child.operation);
        simulation.network().run();
        ASSERT_EQ(simulation.engine(2).deputies_under_way(), 1u);
        simulation.engine(2).begin(*middle.operation);
        simulation.network().run();
        ASSERT_TRUE(middle.operation->done());
        for (int rank = 0; rank < 4; ++rank) {
            const Error* error = simulation.world(rank).broken.get();
            ASSERT_TRUE(error) << rank;
            const std::string what = error->what();
            EXPECT_NE(what.find("rank 3 called gather"), std::string::npos) << what;
            EXPECT_NE(what.find(fmt::format("rank 2 called {}", runtime::name(other))), std::string::npos) << what;
            EXPECT_EQ(simulation.engine(rank).landing().used(), 0u);
        }
    }
}

TEST(Collecting, WhoGoesToTheEndInsteadOfContributingIsNamed) {
    Simulation simulation(machine(4, 0));
    HandMade child(simulation, 3, binomial(OperationKind::gather), 0, 3000, std::byte{4});
    simulation.engine(3).begin(*child.operation);
    simulation.network().run();
    simulation.engine(2).expect_no_call();
    simulation.network().run();
    for (int rank = 0; rank < 4; ++rank) {
        const Error* error = simulation.world(rank).broken.get();
        ASSERT_TRUE(error) << rank;
        EXPECT_NE(std::string(error->what()).find("rank 3 called gather"), std::string::npos) << error->what();
        EXPECT_NE(std::string(error->what()).find("rank 2 called finalize"), std::string::npos) << error->what();
    }
}

// Nothing lands at the root. Rank 1 is late by five messages. The blocks of ranks 2 and 3 come meanwhile if their receives are posted.
TEST(Collecting, ALinearGatherWaitsForNoRankInTurn) {
    constexpr std::uint64_t kBytes = 3000;
    constexpr Nanoseconds kMessage = 20 + 3000;
    const AlgorithmEntry& linear = collectives::find_algorithm(OperationKind::gather, "linear");
    for (const bool decoupled : {false, true}) {
        Simulation::Options options = machine(4, 0, decoupled);
        options.landing_bytes = 0;
        const auto outcome = run(options, linear, 0, kBytes, 0, {0, 5 * kMessage, 0, 0});
        EXPECT_EQ(outcome.exits[0], (decoupled ? 6 : 8) * kMessage);
    }
}

// A rank whose part has begun hears that the rank which it waits for has died: the call fails for all, also for its caller that comes
// later.
TEST(Collecting, ADeathBeforeTheCallerComesIsToldToIt) {
    Simulation simulation(machine(8, 0));
    const AlgorithmEntry& entry = binomial(OperationKind::gather);
    HandMade child(simulation, 5, entry, 0, 3000, std::byte{6}), middle(simulation, 4, entry, 0, 3000, std::byte{5});
    simulation.engine(5).begin(*child.operation);
    simulation.network().run();
    ASSERT_EQ(simulation.engine(4).deputies_under_way(), 1u) << "it waits for rank 6, too";
    simulation.kill(6, "was killed", [](int) { return Nanoseconds{10}; });
    simulation.network().run();
    EXPECT_EQ(simulation.engine(4).deputies_under_way(), 0u);
    EXPECT_EQ(simulation.engine(4).landing().used(), 0u) << "no caller takes what it has collected";
    simulation.engine(4).begin(*middle.operation);
    simulation.network().run();
    ASSERT_TRUE(middle.operation->done());
    ASSERT_TRUE(middle.operation->error());
    EXPECT_EQ(middle.operation->error()->failed_rank(), 6);
    EXPECT_EQ(simulation.engine(4).landing().used(), 0u);
}

// With little memory, or short messages, everything is as without it.
TEST(Collecting, WithoutRoomNothingBeginsEarly) {
    for (const std::uint64_t bytes : {50ull, 3000ull}) {
        auto options = machine(4, 0);
        if (bytes > options.eager_bytes) options.landing_bytes = 2 * 3000;
        Simulation simulation(options);
        HandMade child(simulation, 3, binomial(OperationKind::gather), 0, bytes, std::byte{4});
        simulation.engine(3).begin(*child.operation);
        simulation.network().run();
        EXPECT_EQ(simulation.engine(2).deputies_under_way(), 0u) << bytes;
    }
}

}  // namespace
}  // namespace rollcall::model_test::decoupled
