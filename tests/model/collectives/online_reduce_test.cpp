// The reduce that the root decides while ranks arrive: nothing is predicted, and no rank waits for a late one.
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/model/reduced.hpp"

namespace rollcall::model_test {
namespace {

const AlgorithmEntry& online() { return collectives::find_algorithm(OperationKind::reduce, "online"); }

// Little more than a message after the last arrival: by then the root has combined what all other ranks have brought. They have left.
TEST(OnlineReduce, WaitsForNoLateRank) {
    constexpr Nanoseconds kLate = 3'000'000, kMessage = 64'000;  // A byte takes 1 ns.
    for (std::size_t late = 1; late < 8; ++late) {
        SCOPED_TRACE(late);
        Times arrivals(8, 0);
        arrivals[late] = kLate;
        const auto call = example(OperationKind::reduce, "online", 8, 0, kMessage, 4000, arrivals);
        EXPECT_GE(call.exits[0], kLate + kMessage);
        EXPECT_LE(call.exits[0], kLate + kMessage * 5 / 4);
        for (std::size_t rank = 1; rank < 8; ++rank) {
            EXPECT_TRUE(rank == late || call.exits[rank] < kLate / 2) << rank;
        }
    }
    Times arrivals(8, 0);
    arrivals[4] = kLate;
    EXPECT_GE(exits_of(OperationKind::reduce, "binomial", 8, 0, kMessage, 0, arrivals)[0], kLate + 2 * kMessage);
}

// The root is there long before its caller, whose own elements are the only ones that are missing then.
TEST(OnlineReduce, APlannedRootCombinesBeforeItsCallerComes) {
    constexpr Nanoseconds kLate = 3'000'000, kMessage = 64'000;
    Times arrivals(8, 0);
    arrivals[0] = kLate;
    Simulation::Options options;
    options.ranks = 8;
    Simulation simulation(options);
    const auto outcome = simulation.run(
        [&](int rank) {
            Simulation::RankCall call{collectives::make_call(online(), 0, kMessage, 4000), collectives::planned(online()), {}};
            call.arguments = collectives::arguments_of(collectives::operation(OperationKind::reduce), {}, kMessage, 8, rank == 0);
            call.arguments.segment_bytes = 4000;
            call.begin = 0;
            return call;
        },
        arrivals);
    for (const auto& error : outcome.errors) EXPECT_EQ(error, nullptr) << error->what();
    EXPECT_LE(outcome.exits[0], kLate + kMessage * 5 / 4);
}

// Real data, in any order of arrival.
TEST(OnlineReduce, RandomArrivals) {
    Random random(90);
    for (int repetition = 0; repetition < repetitions(400); ++repetition) {
        const int n = static_cast<int>(random.between(1, 17)), root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
        const auto count = static_cast<std::size_t>(random.pick(std::vector<std::uint64_t>{1, 7, 100, 1000}));
        const std::uint64_t segment = random.pick(std::vector<std::uint64_t>{0, 8, 40, 512});
        const bool in_place = random.chance(0.3);
        const auto options = random_machine(random, n, count * sizeof(int), online());
        const auto delays = random_delays(random, n, root, 50'000);
        SCOPED_TRACE(fmt::format("root={} count={} segment={} in_place={} delays={} {}", root, count, segment, in_place,
                                 fmt::join(delays, " "), describe(options)));
        std::vector<std::vector<std::int32_t>> operands(static_cast<std::size_t>(n), std::vector<std::int32_t>(count));
        std::vector<std::int32_t> expected(count);
        for (auto& operand : operands)
            for (std::size_t i = 0; i < count; ++i) expected[i] += operand[i] = static_cast<std::int32_t>(random.between(-1000, 1000));
        const Reduced<std::int32_t> made(options, online(), root, reduction_of<std::int32_t>(sum), operands, segment, in_place, delays);
        ASSERT_EQ(made.results[static_cast<std::size_t>(root)], expected);
    }
}

}  // namespace
}  // namespace rollcall::model_test
