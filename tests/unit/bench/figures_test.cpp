/// \file
/// Tests the numbers that benchmarks compute from their samples, with samples made by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "bench/results/figures.hpp"
#include "tests/unit/bench/bench.hpp"

namespace rollcall::bench {
namespace {

using Numbers = std::vector<double>;

/// The values of metrics by their names.
std::map<std::string, double> values_of(const std::vector<Metric>& metrics) {
    std::map<std::string, double> values;
    for (const Metric& one : metrics) values[one.name] = one.value.median;
    return values;
}

/// A clock that goes on only when something is done.
struct FigureClock {
    Nanoseconds now = 7 * kSecond;
    auto read() {
        return [this] { return now; };
    }
    auto take(Nanoseconds time) {
        return [this, time] { now += time; };
    }
};

TEST(Figures, ABatchIsDividedByItsNumber) {
    FigureClock clock;
    EXPECT_DOUBLE_EQ(seconds_of_each(clock.read(), 500, clock.take(3 * kMicrosecond)), 3e-6);
    EXPECT_EQ(clock.now, 7 * kSecond + 500 * 3 * kMicrosecond);
    EXPECT_DOUBLE_EQ(seconds_of_each(clock.read(), 1, clock.take(20 * kMicrosecond)), 20e-6);
    EXPECT_DOUBLE_EQ(seconds_each(2.5e9, 1), 2.5);
    EXPECT_DOUBLE_EQ(seconds_each(1e9, 200), 0.005);
}

TEST(Figures, ADirectionIsHalfARoundTrip) {
    FigureClock clock;
    EXPECT_DOUBLE_EQ(seconds_of_direction(clock.read(), 20, clock.take(8 * kMicrosecond)), 4e-6);
    EXPECT_EQ(clock.now, 7 * kSecond + 20 * 8 * kMicrosecond);
}

TEST(Figures, Bandwidth) {
    auto found = values_of(bandwidth_figures(64, 1000, Numbers{0.5}));
    EXPECT_DOUBLE_EQ(found.at("message_rate"), 128);
    EXPECT_DOUBLE_EQ(found.at("bandwidth"), 128'000);
    found = values_of(bandwidth_figures(10, 3, Numbers{1, 2, 5}));
    EXPECT_DOUBLE_EQ(found.at("message_rate"), 5);
    EXPECT_DOUBLE_EQ(found.at("bandwidth"), 15);
}

TEST(Figures, OverlapComparesEachSendWithItsPartner) {
    const auto found = values_of(overlap_figures(Numbers{0.02, 0.06, 0.5}, Numbers{0.01, 0.02, 0.1}, Numbers{0.08, 0.6, 1}));
    EXPECT_DOUBLE_EQ(found.at("to_waiting_receiver"), 0.02);
    EXPECT_DOUBLE_EQ(found.at("ratio"), 3) << "of 2, 3 and 5";
    EXPECT_DOUBLE_EQ(found.at("compute_left"), 0.6);
    EXPECT_DOUBLE_EQ(found.at("share_of_left"), 0.25) << "of 0.25, 0.1 and 0.5";
}

TEST(Figures, IdleThreadsInPercentOfACore) {
    const auto found = values_of(idle_figures({.cpu_time = 30 * kMillisecond, .looks = 400, .takeovers = 3, .parks = 17}, 10 * kSecond));
    EXPECT_DOUBLE_EQ(found.at("background_cpu_percent"), 0.3);
    EXPECT_EQ(found.at("looks"), 400);
    EXPECT_EQ(found.at("takeovers"), 3);
    EXPECT_EQ(found.at("parks"), 17);
}

TEST(Figures, ALoopLosesWhatItsLimitDoesNotTake) {
    const auto found = values_of(loop_figures(Numbers{0.03, 0.05, 0.06}, Numbers{0.02, 0.02, 0.05}));
    EXPECT_DOUBLE_EQ(found.at("limit"), 0.02);
    EXPECT_NEAR(found.at("lost"), 0.01, 1e-12) << "of 0.01, 0.03 and 0.01";
    EXPECT_DOUBLE_EQ(found.at("ratio"), 1.5) << "of 1.5, 2.5 and 1.2";
    EXPECT_TRUE(std::isnan(values_of(loop_figures(Numbers{0.03}, Numbers{0})).at("ratio")));
}

TEST(Figures, SchedulesHaveMeans) {
    const ScheduleSamples tree{.seconds = {1, 2, 3}, .transfers = {1, 1, 1}, .rounds = {1, 1, 1}, .memory = 10};
    const ScheduleSamples linear{.seconds = {1, 2, 9}, .transfers = {10, 20, 60}, .rounds = {5, 5, 2}, .memory = 4096};
    const auto found = values_of(schedule_figures(linear, &tree));
    EXPECT_DOUBLE_EQ(found.at("mean_time"), 4);
    EXPECT_DOUBLE_EQ(found.at("over_segment_tree"), 2);
    EXPECT_DOUBLE_EQ(found.at("transfers"), 30);
    EXPECT_DOUBLE_EQ(found.at("busy_rounds"), 4);
    EXPECT_EQ(found.at("memory_bytes"), 4096);
    EXPECT_FALSE(values_of(schedule_figures(linear, nullptr)).contains("over_segment_tree"));
}

TEST(Figures, CallsBeginWithTheFirstArrival) {
    EXPECT_DOUBLE_EQ(seconds_since_first_arrival(9e9, std::vector<Nanoseconds>{5 * kSecond, 2 * kSecond, 3 * kSecond}), 7);
    EXPECT_DOUBLE_EQ(seconds_since_first_arrival(3e6, std::vector<Nanoseconds>{0, 2 * kMillisecond}), 0.003);
}

TEST(Figures, FasterOnesHaveALargerImprovement) {
    const Metric found = improvement({{6, 6, 6}, {8, 8, 8}, {9, 9, 9}}, {{3, 3, 3}, {2, 2, 2}, {3, 3, 3}});
    EXPECT_EQ(found.name, "improvement");
    EXPECT_DOUBLE_EQ(found.value.median, 3) << "of 2, 4 and 3";
}

TEST(Figures, SlowerThanAPeerIsARatioAboveOne) {
    const Rounds peer = {{2, 2, 2}, {4, 4, 4}}, automatic = {{6, 6, 6}, {12, 12, 12}}, fast = {{1, 9, 1}, {2, 2, 90}};
    Metric found = rollcall_ratio(automatic, peer);
    EXPECT_EQ(found.name, "rollcall_ratio");
    EXPECT_DOUBLE_EQ(found.value.median, 3);
    EXPECT_EQ(fastest_of(std::vector{automatic, fast}), fast) << "by their medians, 9 and 2";
    EXPECT_EQ(fastest_of(std::vector{fast, automatic}), fast);
    found = fastest_ratio(fast, peer);
    EXPECT_EQ(found.name, "fastest_ratio");
    EXPECT_DOUBLE_EQ(found.value.median, 0.5);
}

TEST(Figures, CostsAreNanoseconds) {
    EXPECT_EQ(cost_of(Numbers{2e-6, 3e-6, 9e-6}), 3 * kMicrosecond);
    EXPECT_EQ(cost_of(Numbers{5.4e-9}), 5);
    EXPECT_EQ(cost_of(Numbers{1e-12}), 1) << "nothing takes less";
}

TEST(Figures, AMebibyteAddsWhatAShortMessageDoesNotTake) {
    const Numbers added = added_by_mebibyte(Numbers{100e-6, 50e-6, 1e-6}, Numbers{1e-6, 2e-6, 30e-6});
    ASSERT_EQ(added.size(), 3u);
    EXPECT_DOUBLE_EQ(added[0], 98e-6);
    EXPECT_DOUBLE_EQ(added[1], 48e-6);
    EXPECT_DOUBLE_EQ(added[2], 1e-9) << "the least that the file of costs can say";
}

}  // namespace
}  // namespace rollcall::bench
