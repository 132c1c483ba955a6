// Planned calls that begin with their callers (Operation::await_caller()): until then only their deputies may act.
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/decoupled.hpp"
#include "tests/model/two_level.hpp"

namespace rollcall::model_test::decoupled {
namespace {

/// Runs the call of each rank as a plan that begins at time 0.
Times exits_of_plan(const Simulation::Options& options, const AlgorithmEntry& entry, int root, std::uint64_t bytes, std::uint64_t segment,
                    const Times& arrivals) {
    Simulation simulation(options);
    const OperationRow& row = collectives::operation(entry.operation);
    return simulation
        .run(
            [&](int rank) {
                Simulation::RankCall call{collectives::make_call(entry, row.has_root ? root : -1, bytes, segment),
                                          collectives::planned(entry, rank == root),
                                          collectives::arguments_of(row, {}, bytes, options.ranks, rank == root),
                                          0,
                                          {{0, arrivals[static_cast<std::size_t>(rank)]}}};
                call.arguments.segment_bytes = segment;
                return call;
            },
            arrivals)
        .exits;
}

// A plan that was begun is not slower than a call, whichever rank is late, because deputies begin and end its parts.
TEST(Announced, ItIsLikeACall) {
    Random random(301);
    int tried = 0;
    for (int repetition = 0; repetition < repetitions(100); ++repetition) {
        const int n = static_cast<int>(random.between(2, 12));
        const int root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
        const std::uint64_t bytes = random.between(100, 20'000);
        Times arrivals = random_delays(random, n, root, 100'000);
        for (Nanoseconds& arrival : arrivals) ++arrival;
        for (const AlgorithmEntry* const entry : moving_algorithms()) {
            if (!entry->runs_alone || entry->begins_early) continue;
            ++tried;
            SCOPED_TRACE(fmt::format("{} n={} root={} bytes={} {}", entry->name, n, root, bytes, testing::PrintToString(arrivals)));
            EXPECT_TRUE(collectives::planned(*entry).begins_with_caller);
            const std::uint64_t segment = entry->segmented ? 1000 : 0;
            EXPECT_EQ(exits_of_plan(machine(n, 0.25), *entry, root, bytes, segment, arrivals),
                      run(machine(n, 0.25), *entry, root, bytes, segment, arrivals).exits);
            if (HasFailure()) return;
        }
    }
    EXPECT_GT(tried, 0);
}

TEST(Announced, ALateRankPassesDataOn) {
    const Times exits = exits_of_plan(machine(4, 0), broadcast("pipelined"), 0, 1000, 100, {1, 1'000'000, 1, 1});
    EXPECT_LT(exits[3], 10'000);
    EXPECT_LE(exits[0], 2) << "the root hands over";
}

// The other ranks of these algorithms copy before their callers come. A root has nothing to do before.
TEST(Announced, TheRootOfTwoLevelsHandsOver) {
    auto options = two_on_each_node(6);
    options.find_part_alone = &collectives::part_alone;
    const Times arrivals = {50, 200'000, 200'000, 200'000, 200'000, 200'000};
    for (const OperationKind kind : {OperationKind::broadcast, OperationKind::scatter}) {
        const AlgorithmEntry& entry = two_level(kind);
        EXPECT_TRUE(collectives::planned(entry, true).begins_with_caller);
        EXPECT_FALSE(collectives::planned(entry, false).begins_with_caller);
        const Times exits = exits_of_plan(options, entry, 0, 5000, 0, arrivals);
        EXPECT_EQ(exits[0], outcome_of_entry(entry, options, 0, 5000, arrivals).exits[0]) << runtime::name(kind);
        EXPECT_LT(exits[0], 10'000);
        for (std::size_t rank = 1; rank < exits.size(); ++rank) EXPECT_EQ(exits[rank], arrivals[rank]) << "it has its data before";
    }
    EXPECT_FALSE(collectives::planned(two_level(OperationKind::gather), true).begins_with_caller) << "its root has data to take";
}

// The data is real. Some ranks plan their calls, and others call, in the same steps.
TEST(Announced, ManyCalls) {
    Random random(302);
    auto entries = moving_algorithms();
    std::erase_if(entries, [](const AlgorithmEntry* entry) { return !entry->runs_alone && !entry->forwards; });
    for (int repetition = 0; repetition < repetitions(60); ++repetition) {
        const int n = static_cast<int>(random.between(2, 9));
        auto options = machine(n, random.pick(std::vector<double>{0, 0.5}));
        options.ranks_per_node = random.chance(0.5) ? 2 : 0;
        if (random.chance(0.5)) options.landing_bytes = random.between(1, 40'000);
        std::vector<Step> steps;
        for (int i = 0; i < 30; ++i) {
            Step step;
            do step.entry = random.pick(entries);
            while (step.entry->needs.contains(collectives::Condition::several_nodes) && (options.ranks_per_node == 0 || n < 3));
            step.root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
            step.bytes = random.between(0, 5000);
            step.segment = step.entry->segmented ? random.pick(std::vector<std::uint64_t>{0, 700}) : 0;
            step.delays = random_delays(random, n, step.root, random.chance(0.1) ? 1'000'000 : 5000);
            plan_at_random(random, step);
            steps.push_back(std::move(step));
        }
        expect_right_results(options, steps);
        if (HasFailure()) return;
    }
}

/// Four ranks of which one has announced its part in a chain, and has not come.
struct Late {
    explicit Late(int its_rank) : simulation(machine(4, 0)), rank(its_rank) {
        for (int each = 0; each < 4; ++each)
            calls.push_back(std::make_unique<HandMade>(simulation, each, broadcast("pipelined"), 0, 3000, std::byte(each == 0)));
        operation().await_caller(runtime::kUnknownTime, true);
        engine().begin(operation());
    }
    Operation& operation() { return *calls[static_cast<std::size_t>(rank)]->operation; }
    runtime::Engine& engine() { return simulation.engine(rank); }
    void begin_others() {
        for (const auto& call : calls)
            if (call->rank != rank) simulation.engine(call->rank).begin(*call->operation);
        simulation.network().run();
    }
    void expect_failed(ErrorCode code) {
        ASSERT_TRUE(operation().done());
        ASSERT_TRUE(operation().error());
        EXPECT_EQ(operation().error()->code(), code) << operation().error()->what();
        EXPECT_EQ(engine().under_way().operations, 0u);
        EXPECT_EQ(engine().under_way().messages, 0u);
        EXPECT_EQ(engine().examples_under_way(), "");
        EXPECT_EQ(engine().deputies_under_way(), 0u);
        EXPECT_EQ(engine().landing().used(), 0u);
        operation().predict_arrival(7);
        operation().arrive();  // Changes nothing.
        simulation.network().run();
    }
    Simulation simulation;
    int rank;
    std::vector<std::unique_ptr<HandMade>> calls;
};

TEST(Announced, ItCountsAsUnderWayUntilItsCallerHasCome) {
    Late late(1);
    EXPECT_EQ(late.engine().under_way().operations, 1u);
    EXPECT_EQ(late.engine().under_way().messages, 0u);
    EXPECT_EQ(late.engine().examples_under_way(), late.operation().describe());
    late.begin_others();
    EXPECT_TRUE(late.calls[3]->operation->done()) << "rank 1 passes the message on";
    EXPECT_EQ(late.engine().under_way().operations, 1u);
    EXPECT_FALSE(late.operation().done());
    late.operation().predict_arrival(late.simulation.network().now());
    late.operation().arrive();
    late.simulation.network().run();
    EXPECT_TRUE(late.operation().done());
    EXPECT_EQ(late.operation().error(), nullptr);
    EXPECT_EQ(late.engine().under_way().operations, 0u);
    EXPECT_EQ(late.engine().under_way().messages, 0u);
    for (const auto& call : late.calls) EXPECT_EQ(call->memory, std::vector<std::byte>(3000, std::byte{1})) << call->rank;
}

TEST(Announced, ItIsGivenUpBeforeItsCallerHasCome) {
    for (const bool others_have_come : {false, true})
        for (const int rank : {0, 2}) {
            Late late(rank);
            if (others_have_come) late.begin_others();
            late.operation().abandon(late.engine(), Error(ErrorCode::state, "its plan was destroyed"));
            late.simulation.network().run();
            late.expect_failed(ErrorCode::state);
            if (!others_have_come) late.begin_others();
            for (const auto& call : late.calls) {
                if (call->rank == rank || call->operation->done()) continue;
                ADD_FAILURE() << "rank " << call->rank << " waits for rank " << rank;
            }
            EXPECT_TRUE(late.calls[3]->operation->error() || (others_have_come && rank == 2)) << "it needs rank " << rank;
        }
}

TEST(Announced, ADeathEndsIt) {
    Late late(1);
    late.simulation.kill(3, "was killed", [](int) { return Nanoseconds{10}; });
    late.simulation.network().run();
    late.expect_failed(ErrorCode::peer_failed);
}

// Its communicator is broken already: it fails when it is announced, and not only when its caller comes.
TEST(Announced, ItFailsAtOnceOnABrokenCommunicator) {
    Late late(1);
    late.operation().abandon(late.engine(), Error(ErrorCode::state, "its plan was destroyed"));
    late.simulation.network().run();
    HandMade next(late.simulation, 1, broadcast("pipelined"), 0, 3000, std::byte{0});
    next.operation->await_caller(runtime::kUnknownTime, true);
    late.engine().begin(*next.operation);
    ASSERT_TRUE(next.operation->done());
    EXPECT_TRUE(next.operation->error());
    EXPECT_EQ(late.engine().under_way().operations, 0u);
    EXPECT_EQ(late.engine().under_way().messages, 0u);
}

}  // namespace
}  // namespace rollcall::model_test::decoupled
