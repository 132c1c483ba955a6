// The circulant broadcast on the simulated network: its rounds are exactly those of the schedule
// (tests/unit/collectives/circulant_test.cpp).
#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/decoupled.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::model_test::decoupled {
namespace {

TEST(CirculantBroadcast, TheWorkedExample) {
    const auto outcome = run(machine(5, 0, false), broadcast("circulant"), 0, 3000, 1000, Times(5, 0));
    EXPECT_EQ(outcome.exits, Times(5, 5 * 1020));
    EXPECT_EQ(outcome.messages, 4u * 3u);
    const auto chain = run(machine(5, 0, false), broadcast("pipelined"), 0, 3000, 1000, Times(5, 0));
    EXPECT_EQ(*std::max_element(chain.exits.begin(), chain.exits.end()), 6 * 1020);
}

// n - 1 + ceil(log2 p) rounds, each as long as one message: no broadcast of n pieces by single ports is faster. It is the same whether
// early data may land or not, because no message comes before its round.
TEST(CirculantBroadcast, TakesTheLeastNumberOfRounds) {
    Random random(74);
    for (int p = 2; p < 260; p += p < 40 ? 1 : 17)
        for (const std::uint64_t n : {1, 2, 7, 20}) {
            const int root = static_cast<int>(random.below(static_cast<std::uint64_t>(p)));
            auto options = machine(p, 0, false);
            if (random.chance(0.5)) options.landing_bytes = 0;
            SCOPED_TRACE(fmt::format("p={} n={} root={} landing={}", p, n, root, options.landing_bytes));
            const auto outcome = run(options, broadcast("circulant"), root, n * 1000, 1000, Times(static_cast<std::size_t>(p), 0));
            const auto rounds = static_cast<int>(n) - 1 + std::bit_width(static_cast<unsigned>(p - 1));
            ASSERT_EQ(*std::max_element(outcome.exits.begin(), outcome.exits.end()), rounds * 1020);
            ASSERT_EQ(outcome.messages, static_cast<std::uint64_t>(p - 1) * n);
        }
}

// Late ranks pass the pieces on before their callers come.
TEST(CirculantBroadcast, NobodyWaitsForALateRankButTheRoot) {
    Random random(75);
    for (int repetition = 0; repetition < repetitions(100); ++repetition) {
        const int n = static_cast<int>(random.between(2, 40));
        const Times arrivals = random_delays(random, n, 0, 1'000'000);
        SCOPED_TRACE(fmt::format("n={} {}", n, testing::PrintToString(arrivals)));
        const auto outcome = run(machine(n, 0), broadcast("circulant"), 0, 10'000, 1000, arrivals);
        const Nanoseconds rounds = 9 + std::bit_width(static_cast<unsigned>(n - 1));
        for (std::size_t rank = 0; rank < arrivals.size(); ++rank)
            ASSERT_LE(outcome.exits[rank], std::max(arrivals[rank], arrivals[0] + rounds * 1020)) << "rank " << rank;
    }
}

}  // namespace
}  // namespace rollcall::model_test::decoupled
