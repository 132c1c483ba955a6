// Medians and their intervals: orders from the tables of the sign test, and the coverage that is promised.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <numeric>
#include <random>
#include <rollcall/error.hpp>
#include <vector>

#include "bench/results/statistics.hpp"

namespace rollcall::bench {
namespace {

TEST(BenchStatistics, OrdersOfTheInterval) {
    // n = 9: P(B < 2) = 10/512 = 0.0195, P(B < 3) = 46/512 = 0.0898. n = 10: 11/1024 and 56/1024. And so on.
    for (const auto& [n, k] : std::vector<std::pair<std::size_t, std::size_t>>{
             {1, 1}, {5, 1}, {6, 1}, {8, 1}, {9, 2}, {10, 2}, {11, 2}, {12, 3}, {20, 6}, {25, 8}, {50, 18}, {100, 40}})
        EXPECT_EQ(interval_order(n), k) << n << " samples";
    EXPECT_NEAR(static_cast<double>(interval_order(1'000'000)), 500'000 - 1.96 * 500, 2) << "no underflow: the normal limit";
}

TEST(BenchStatistics, ConfidenceOfTheInterval) {
    EXPECT_DOUBLE_EQ(interval_confidence(1), 0);
    EXPECT_NEAR(interval_confidence(2), 0.5, 1e-12);
    EXPECT_NEAR(interval_confidence(5), 1 - 2.0 / 32, 1e-12);
    EXPECT_NEAR(interval_confidence(6), 1 - 2.0 / 64, 1e-12);
    EXPECT_NEAR(interval_confidence(9), 1 - 2 * 10.0 / 512, 1e-12);
    for (std::size_t n = kFewestSamples; n < 3'000; n += 7) {
        EXPECT_GE(interval_confidence(n), 0.95) << n;
        EXPECT_LT(interval_confidence(n), 0.9922) << n << ": not wider than needed (n = 8 gives 0.9922)";
    }
}

TEST(BenchStatistics, MedianAndInterval) {
    EXPECT_EQ(estimate(std::vector<double>{3}), (Estimate{3, 3, 3}));
    EXPECT_EQ(estimate(std::vector<double>{4, 1}), (Estimate{2.5, 1, 4}));
    EXPECT_EQ(estimate(std::vector<double>{5, 1, 3, 2, 4}), (Estimate{3, 1, 5}));
    EXPECT_EQ(estimate(std::vector<double>{9, 8, 7, 6, 5, 4, 3, 2, 1}), (Estimate{5, 2, 8}));
    std::vector<double> hundred(100);
    std::iota(hundred.begin(), hundred.end(), 1.0);
    EXPECT_EQ(estimate(hundred), (Estimate{50.5, 40, 61})) << "the textbook's 40th and 61st";
}

TEST(BenchStatistics, UndefinedAndMissingSamples) {
    const Estimate undefined = estimate(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()});
    EXPECT_TRUE(std::isnan(undefined.median) && std::isnan(undefined.low) && std::isnan(undefined.high));
    EXPECT_THROW(estimate(std::vector<double>{}), Error);
    EXPECT_THROW(percentile(std::vector<double>{}, 50), Error);
    EXPECT_THROW(percentile(std::vector<double>{1}, 101), Error);
    EXPECT_THROW(percentile(std::vector<double>{1}, std::nan("")), Error);
}

TEST(BenchStatistics, Percentiles) {
    const std::vector<double> samples{40, 10, 30, 20};
    EXPECT_DOUBLE_EQ(percentile(samples, 0), 10);
    EXPECT_DOUBLE_EQ(percentile(samples, 50), 25);
    EXPECT_DOUBLE_EQ(percentile(samples, 90), 37);
    EXPECT_DOUBLE_EQ(percentile(samples, 100), 40);
}

TEST(BenchStatistics, IntervalCoversTheMedianOfASkewedDistribution) {
    const char* given = std::getenv("ROLLCALL_TEST_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "ROLLCALL_TEST_SEED=" << seed << std::endl;
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> exponential(1);
    constexpr int kRounds = 4'000;
    int covered = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::vector<double> samples(20);
        for (double& sample : samples) sample = exponential(random);
        const Estimate result = estimate(samples);
        covered += result.low <= std::log(2) && std::log(2) <= result.high ? 1 : 0;
    }
    // Eight standard deviations of 0.0031 around the exact confidence, 0.9586.
    EXPECT_NEAR(covered / double{kRounds}, interval_confidence(20), 0.026);
}

TEST(BenchStatistics, MeansHaveStudentsInterval) {
    EXPECT_EQ(estimate_mean(std::vector{7.0}), (Estimate{7, 7, 7}));
    // One standard deviation of the mean is 1; the percentiles are from a printed table.
    for (const auto& [samples, t] : {std::pair(std::vector{-1.0, 1.0}, 12.706), {std::vector{-3.0, 0.0, 3.0}, 4.303 * std::sqrt(3)}}) {
        const Estimate mean = estimate_mean(samples);
        EXPECT_DOUBLE_EQ(mean.median, 0);
        EXPECT_NEAR(mean.high, t, 0.002 * t);
        EXPECT_DOUBLE_EQ(mean.low, -mean.high);
    }
    for (const auto& [degrees, t] : {std::pair(5, 2.571), {6, 2.447}, {10, 2.228}, {30, 2.042}, {1000, 1.962}}) {
        std::vector<double> samples(static_cast<std::size_t>(degrees) + 1, 0.0);
        samples[0] = 1;
        samples[1] = -1;
        // The sum of squares is 2.
        const double deviation = std::sqrt(2.0 / degrees / (degrees + 1));
        EXPECT_NEAR(estimate_mean(samples).high, t * deviation, 0.002 * t * deviation) << degrees;
    }
    EXPECT_THROW(estimate_mean({}), Error);
}

TEST(BenchStatistics, SamplesThatDifferMuchAreUnsteady) {
    EXPECT_FALSE(is_unsteady(std::vector<double>{130, 131, 135, 128, 129, 133, 180, 140, 132}));
    EXPECT_TRUE(is_unsteady(std::vector<double>{130, 4000, 135, 1370, 129, 1210, 37300, 140, 4000}));
    const std::vector<double> one_outlier = {130, 131, 135, 128, 129, 133, 37300, 140, 132};
    EXPECT_FALSE(is_unsteady(one_outlier)) << "one of nine does not move the median";
    // The interval of the median of so many samples leaves out all that differ.
    std::vector<double> many(200, 5);
    std::fill_n(many.begin(), 84, 50);
    EXPECT_EQ(estimate(many).high, 5);
    EXPECT_TRUE(is_unsteady(many));
}

TEST(BenchStatistics, QuotientsOfMeansAreOfPairs) {
    // What both of a pair have in common does not widen the interval.
    const std::vector<double> base = {1, 5, 100, 2, 7}, twice = {2, 10, 200, 4, 14};
    EXPECT_EQ(estimate_ratio_of_means(twice, base), (Estimate{2, 2, 2}));
    const std::vector<double> noisy = {2.5, 9.5, 200.5, 3.5, 14};
    const Estimate ratio = estimate_ratio_of_means(noisy, base);
    EXPECT_DOUBLE_EQ(ratio.median, 2);
    // The residuals are 0.5, -0.5, 0.5, -0.5 and 0, over a mean of 23.
    EXPECT_NEAR(ratio.high - 2, 2.776 * std::sqrt(1.0 / 4 / 5) / 23, 1e-4);
    EXPECT_THROW(estimate_ratio_of_means(twice, std::vector{1.0}), Error);
}

}  // namespace
}  // namespace rollcall::bench
