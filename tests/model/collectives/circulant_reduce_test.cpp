// The circulant reduce on the simulated network: the rounds of the broadcast, backwards.
#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/decoupled.hpp"
#include "tests/model/reduced.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::model_test::decoupled {
namespace {

const AlgorithmEntry& circulant_reduce() { return collectives::find_algorithm(OperationKind::reduce, "circulant"); }

TEST(CirculantReduce, TheWorkedExample) {
    EXPECT_EQ(exits_of(OperationKind::reduce, "circulant", 5, 0, 30, 10, Times(5)), (Times{50, 30, 50, 40, 30}));
    EXPECT_EQ(example(OperationKind::reduce, "circulant", 5, 0, 30, 10, Times(5)).messages, 4u * 3u);
    EXPECT_EQ(exits_of(OperationKind::reduce, "pipelined", 5, 0, 30, 10, Times(5))[0], 60);
}

// n - 1 + ceil(log2 p) rounds, each as long as one message and one combination.
TEST(CirculantReduce, TakesTheLeastNumberOfRounds) {
    Random random(76);
    for (int p = 2; p < 260; p += p < 40 ? 1 : 17)
        for (const std::uint64_t n : {1, 2, 7, 20}) {
            const int root = static_cast<int>(random.below(static_cast<std::uint64_t>(p)));
            auto options = machine(p, 0, false);
            if (random.chance(0.5)) options.landing_bytes = 0;
            SCOPED_TRACE(fmt::format("p={} n={} root={} landing={}", p, n, root, options.landing_bytes));
            const Times at_once(static_cast<std::size_t>(p), 0);
            const auto outcome = run(options, circulant_reduce(), root, n * 1000, 1000, at_once);
            const auto rounds = static_cast<int>(n) - 1 + std::bit_width(static_cast<unsigned>(p - 1));
            ASSERT_EQ(*std::max_element(outcome.exits.begin(), outcome.exits.end()), rounds * 1020);
            ASSERT_EQ(outcome.exits[static_cast<std::size_t>(root)], rounds * 1020);
            ASSERT_EQ(outcome.messages, static_cast<std::uint64_t>(p - 1) * n);
            options.model.gamma = 0.5;
            ASSERT_LE(run(options, circulant_reduce(), root, n * 1000, 1000, at_once).exits[static_cast<std::size_t>(root)],
                      rounds * (1020 + copy_time(0.5, 1000)));
        }
}

TEST(CirculantReduce, EveryNumberOfRanks) {
    Random random(77);
    for (int n = 1; n <= 40; ++n)
        for (int repetition = 0; repetition < repetitions(6); ++repetition) {
            const auto ranks = static_cast<std::size_t>(n);
            const int root = static_cast<int>(random.below(ranks));
            const std::uint64_t count = random.below(300), segment = random.pick(std::vector<std::uint64_t>{0, 1, 40, 100, 1000});
            const bool in_place = random.chance(0.5);
            const auto options = random_machine(random, n, count * sizeof(std::uint32_t));
            const Times delays = random_delays(random, n, root, random.pick(std::vector<Nanoseconds>{0, 1000, 100'000}));
            SCOPED_TRACE(fmt::format("root={} count={} segment={} in_place={} {} {}", root, count, segment, in_place, describe(options),
                                     testing::PrintToString(delays)));
            std::vector<std::vector<std::uint32_t>> operands(ranks, std::vector<std::uint32_t>(count));
            std::vector<std::uint32_t> expected(count);
            for (auto& operand : operands)
                for (std::size_t i = 0; i < count; ++i) {
                    operand[i] = static_cast<std::uint32_t>(random.below(1u << 31));
                    expected[i] += operand[i];
                }
            const Reduced<std::uint32_t> made(options, circulant_reduce(), root, reduction_of<std::uint32_t>(sum), operands, segment,
                                              in_place, delays);
            ASSERT_EQ(made.results[static_cast<std::size_t>(root)], expected);
        }
}

// A rank that only contributes has left after a copy. The root ends soon after the last arrival: it waits for no more than all rounds.
TEST(CirculantReduce, NobodyWaitsForALateRankButTheRoot) {
    Random random(78);
    constexpr double kGamma = 0.5;
    for (int repetition = 0; repetition < repetitions(100); ++repetition) {
        const int n = static_cast<int>(random.between(2, 40));
        const Times arrivals = random_delays(random, n, 0, 1'000'000);
        SCOPED_TRACE(fmt::format("n={} {}", n, testing::PrintToString(arrivals)));
        const auto outcome = run(machine(n, kGamma), circulant_reduce(), 0, 10'000, 1000, arrivals);
        for (std::size_t rank = 1; rank < arrivals.size(); ++rank)
            ASSERT_LE(outcome.exits[rank], arrivals[rank] + copy_time(kGamma, 10'000)) << "rank " << rank;
        const Nanoseconds rounds = 9 + std::bit_width(static_cast<unsigned>(n - 1));
        ASSERT_LE(outcome.exits[0], *std::max_element(arrivals.begin(), arrivals.end()) + copy_time(kGamma, 10'000) +
                                        rounds * (1020 + copy_time(kGamma, 1000)));
    }
}

}  // namespace
}  // namespace rollcall::model_test::decoupled
