// Measures of a call: an example worked by hand, and Lemmas 1 and 2 of Patarasuk and Yuan on random patterns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <rollcall/error.hpp>
#include <vector>

#include "bench/results/metrics.hpp"

#include "tests/sanitizers.hpp"
#include "tests/unit/bench/bench.hpp"

namespace rollcall::bench {
namespace {

using Times = std::vector<Nanoseconds>;
/// Long after the start of the machine: sums of such numbers must not lose nanoseconds.
constexpr Nanoseconds kOrigin = 4'000'000'000'000'000'000;

Times at(std::vector<Nanoseconds> seconds) {
    for (Nanoseconds& time : seconds) time = kOrigin + time * kSecond;
    return seconds;
}

// Arrivals 0, 2, 4, 10 s; exits 12, 13, 14, 21 s; T = 10 s. Elapsed 12, 11, 10, 11; mean arrival 4, deviations 4, 2,
// 0, 6.
const Times kArrivals = at({0, 2, 4, 10});
const Times kExits = at({12, 13, 14, 21});

TEST(BenchMetrics, WorkedExample) {
    const Metrics metrics = measure(kArrivals, kExits, {0, 10 * kSecond, Model::nonblocking});
    EXPECT_DOUBLE_EQ(metrics.run_time, 21);
    EXPECT_DOUBLE_EQ(metrics.mean_elapsed, 11);
    EXPECT_DOUBLE_EQ(metrics.worst_elapsed, 12);
    EXPECT_DOUBLE_EQ(metrics.last_delay, 11);
    EXPECT_DOUBLE_EQ(metrics.spread, 10);
    EXPECT_DOUBLE_EQ(metrics.mean_deviation, 3);
    EXPECT_DOUBLE_EQ(metrics.imbalance_factor, 1);
    EXPECT_DOUBLE_EQ(metrics.average_imbalance_factor, 0.3);
    EXPECT_DOUBLE_EQ(metrics.lower_bound, 7.5) << "3/4 of 10";
    EXPECT_DOUBLE_EQ(metrics.performance_ratio, 11 / 7.5);
}

TEST(BenchMetrics, BlockingBoundAddsTheLastArrival) {
    const Metrics metrics = measure(kArrivals, kExits, {0, 10 * kSecond, Model::blocking});
    EXPECT_DOUBLE_EQ(metrics.lower_bound, 10) << "(10 + 3 * 10) / 4";
    EXPECT_DOUBLE_EQ(metrics.performance_ratio, 1.1);
}

TEST(BenchMetrics, WhoComesBeforeTheRootCountsAsComingWithIt) {
    // Root 2 arrives at 4: ranks 0 and 1 wait 4 and 2 for it whatever is done, and Delta is 6.
    const Metrics nonblocking = measure(kArrivals, kExits, {2, 10 * kSecond, Model::nonblocking});
    EXPECT_DOUBLE_EQ(nonblocking.lower_bound, (3 * 10 + 4 + 2) / 4.0);
    const Metrics blocking = measure(kArrivals, kExits, {2, 10 * kSecond, Model::blocking});
    EXPECT_DOUBLE_EQ(blocking.lower_bound, (6 + 3 * 10 + 4 + 2) / 4.0);
    // The root last of all: Delta is 0, not negative.
    EXPECT_DOUBLE_EQ(measure(kArrivals, kExits, {3, 10 * kSecond, Model::blocking}).lower_bound, (0 + 30 + 10 + 8 + 6) / 4.0);
    EXPECT_DOUBLE_EQ(blocking.mean_elapsed, 11) << "elapsed times stay those from the true arrivals";
}

TEST(BenchMetrics, UndefinedRatiosAreNaN) {
    const Metrics alone = measure(at({3}), at({4}), {0, kSecond, Model::blocking});
    EXPECT_DOUBLE_EQ(alone.run_time, 1);
    EXPECT_DOUBLE_EQ(alone.spread, 0);
    EXPECT_DOUBLE_EQ(alone.lower_bound, 0);
    EXPECT_TRUE(std::isnan(alone.performance_ratio));
    const Metrics unknown = measure(kArrivals, kExits, {3, 0, Model::nonblocking});
    EXPECT_TRUE(std::isnan(unknown.imbalance_factor));
    EXPECT_TRUE(std::isnan(unknown.average_imbalance_factor));
    EXPECT_TRUE(std::isnan(unknown.performance_ratio));
}

TEST(BenchMetrics, WrongArguments) {
    EXPECT_THROW(measure(Times{}, Times{}, {}), Error);
    EXPECT_THROW(measure(at({0, 1}), at({1}), {}), Error);
    EXPECT_THROW(measure(kArrivals, kExits, {4, 0, Model::blocking}), Error);
    EXPECT_THROW(measure(kArrivals, kExits, {-1, 0, Model::blocking}), Error);
    EXPECT_THROW(parse_model("async"), Error);
    EXPECT_EQ(parse_model(name(Model::blocking)), Model::blocking);
    EXPECT_EQ(parse_model(name(Model::nonblocking)), Model::nonblocking);
    EXPECT_EQ(parse_model(name(Model::eager)), Model::eager);
}

// The algorithm nearopt of Lemma 1 on random patterns, with any rank as the root: its mean is T (or T + Delta/n) plus
// what the early ones wait for the root, so its ratio lies between 1 and that of Lemma 1 to Lemma 2.
TEST(BenchMetrics, NearOptimalLiesBetweenTheLemmas) {
    const char* given = std::getenv("ROLLCALL_TEST_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "ROLLCALL_TEST_SEED=" << seed << std::endl;
    std::mt19937_64 random(seed);
    for (int round = 0; round < test::repetitions(2'000); ++round) {
        const std::size_t n = 2 + random() % 63;
        const Nanoseconds T = 1 + static_cast<Nanoseconds>(random() % 1'000'000);
        const std::size_t root = random() % n;
        Times a(n);
        for (Nanoseconds& arrival : a) arrival = kOrigin + static_cast<Nanoseconds>(random() % 20'000'000);

        Times effective(n);
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < n; ++i) {
            effective[i] = std::max(a[i], a[root]);
            if (i != root) order.push_back(i);
        }
        std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return effective[i] < effective[j]; });
        order.insert(order.begin(), root);
        Times nonblocking(n), blocking(n);
        for (std::size_t i = 0; i < n; ++i) {
            nonblocking[order[i]] = effective[order[i]] + T;
            blocking[order[i]] = effective[order[std::min(i + 1, n - 1)]] + T;
        }
        const auto count = static_cast<double>(n);
        const double free = measure(a, nonblocking, {static_cast<int>(root), T, Model::nonblocking}).performance_ratio;
        EXPECT_GE(free, 1 - 1e-9);
        EXPECT_LE(free, count / (count - 1) + 1e-9);
        const double blocked = measure(a, blocking, {static_cast<int>(root), T, Model::blocking}).performance_ratio;
        EXPECT_GE(blocked, 1 - 1e-9);
        EXPECT_LE(blocked, count / (count - 1) + 1e-9);
        if (HasFailure()) FAIL() << "round " << round << ": n " << n << ", root " << root << ", T " << T;
    }
}

TEST(BenchMetrics, PatternErrorIsMeasuredFromTheStart) {
    const Times asked{0, 2'000, 5'000};
    const Times arrivals{kOrigin + 3'000, kOrigin + 6'000, kOrigin + 5'000};  // 3000 late, 4000 late, exact
    const PatternError error = pattern_error(asked, arrivals, kOrigin);
    EXPECT_DOUBLE_EQ(error.maximum, 4e-6);
    EXPECT_DOUBLE_EQ(error.rms, std::sqrt((9e-12 + 16e-12) / 3));
    EXPECT_DOUBLE_EQ(pattern_error(Times{5'000}, Times{kOrigin}, kOrigin).maximum, 5e-6) << "early counts like late";
    EXPECT_THROW(pattern_error(asked, Times{1}, 0), Error);
}

}  // namespace
}  // namespace rollcall::bench
