/// \file
/// Models of clocks, what is fitted from measurements, and the common clock of a process.
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <rollcall/error.hpp>

#include "collectives/trees/hosts.hpp"
#include "foundation/clock.hpp"
#include "foundation/kernel.hpp"
#include "runtime/clock/common_clock.hpp"
#include "runtime/clock/fit.hpp"
#include "runtime/clock/host_clock.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::runtime {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000, kDay = 86'400 * kSecond;

std::uint64_t seed() {
    static const std::uint64_t chosen = [] {
        const char* given = std::getenv("ROLLCALL_TEST_SEED");
        const std::uint64_t number = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
        std::printf("ROLLCALL_TEST_SEED=%llu\n", static_cast<unsigned long long>(number));
        return number;
    }();
    return chosen;
}

ClockModel random_model(std::mt19937_64& random) {
    const auto between = [&](Nanoseconds first, Nanoseconds last) {
        return first + static_cast<Nanoseconds>(random() % static_cast<std::uint64_t>(last - first + 1));
    };
    return {between(0, 300 * kDay), between(-300 * kDay, 300 * kDay), static_cast<double>(between(-100'000, 100'000)) * 1e-9};
}

TEST(ClockModel, IsExactToANanosecondForDays) {
    const ClockModel model{kDay, 10 * kSecond, 50e-6};
    EXPECT_EQ(model.at(kDay), kDay + 10 * kSecond);
    EXPECT_EQ(model.at(11 * kDay), 11 * kDay + 10 * kSecond + 10 * kDay / 20'000);
    EXPECT_EQ(model.at(11 * kDay + 1), 11 * kDay + 10 * kSecond + 10 * kDay / 20'000 + 1);
    EXPECT_EQ(model.at(0), 10 * kSecond - kDay / 20'000);
    EXPECT_EQ(ClockModel().at(300 * kDay + 7), 300 * kDay + 7);
    EXPECT_TRUE(ClockModel().is_identity());
    EXPECT_FALSE(model.is_identity());
}

TEST(ClockModel, InverseAndComposition) {
    std::mt19937_64 random(seed());
    for (int repetition = 0; repetition < test::repetitions(20'000); ++repetition) {
        const ClockModel first = random_model(random), then = random_model(random);
        const Nanoseconds time = static_cast<Nanoseconds>(random() % (300ull * kDay));
        ASSERT_LE(std::abs(inverse(first).at(first.at(time)) - time), 1);
        ASSERT_LE(std::abs(first.at(inverse(first).at(time)) - time), 1);
        ASSERT_LE(std::abs(compose(first, then).at(time) - then.at(first.at(time))), 2);
        ASSERT_LE(std::abs(compose(first, inverse(first)).at(time) - time), 2);
    }
}

TEST(ClockModel, LineThroughTwoMeasurements) {
    const ClockModel line = line_through({100 * kSecond, 5000, 1}, {200 * kSecond, 7000, -1});
    EXPECT_EQ(line.at(100 * kSecond), 100 * kSecond + 5000);
    EXPECT_EQ(line.at(200 * kSecond), 200 * kSecond + 7000);
    EXPECT_EQ(line.at(150 * kSecond), 150 * kSecond + 6000);
    EXPECT_EQ(line.at(300 * kSecond), 300 * kSecond + 9000);
}

TEST(BestSamples, KeepTheShortestRoundTripOfEachStretch) {
    BestSamples best(100);
    best.add({1000, 1, 50});
    best.add({1050, 2, 40});
    best.add({1099, 3, 60});
    best.add({1100, 4, 70});  // the next stretch
    best.add({1150, 5, 70});
    best.add({5000, 6, 10});
    ASSERT_EQ(best.samples().size(), 3u);
    EXPECT_EQ(best.samples()[0].offset, 2);
    EXPECT_EQ(best.samples()[1].offset, 4);
    EXPECT_EQ(best.samples()[2].offset, 6);
}

// What two clocks would measure: `model`, round trips of at least `shortest`, and delays on either way.
std::vector<OffsetSample> measure(const ClockModel& model, std::size_t count, Nanoseconds window, Nanoseconds shortest, double there,
                                  double back, std::mt19937_64& random) {
    const auto delay = [&](double mean) {
        const double uniform = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
        return static_cast<Nanoseconds>(-mean * std::log(uniform));
    };
    std::vector<OffsetSample> samples;
    const Nanoseconds start = model.reference;
    for (std::size_t i = 0; i < count; ++i) {
        const Nanoseconds sent = start + window * static_cast<Nanoseconds>(i) / static_cast<Nanoseconds>(count);
        const Nanoseconds answered = sent + shortest / 2 + delay(there), received = answered + shortest / 2 + delay(back);
        const Nanoseconds middle = sent + (received - sent) / 2;
        samples.push_back({middle, model.at(answered) - middle, received - sent});
    }
    return samples;
}

TEST(ClockFit, FindsExactDrift) {
    std::mt19937_64 random(seed());
    for (const double drift : {0.0, 50e-6, -50e-6, 90e-6}) {
        const ClockModel truth{123 * kDay, -7 * kDay, drift};
        const ClockFit fitted = fit(measure(truth, 50, 30'000'000, 20'000, 0, 0, random));
        EXPECT_EQ(fitted.round_trip, 20'000);
        EXPECT_NEAR(fitted.model.drift, drift, 0.2e-6);
        for (const Nanoseconds later : {0, 30'000'000})
            EXPECT_LE(std::abs(fitted.model.at(truth.reference + later) - truth.at(truth.reference + later)), 10);
    }
}

// Crystals drift less. A clock that is being adjusted drifts more, which one window does not show reliably.
TEST(ClockFit, DriftIsAtMost200PartsPerMillion) {
    std::mt19937_64 random(seed() + 9);
    for (const double drift : {400e-6, -5000e-6}) {
        const ClockFit fitted = fit(measure({kDay, kSecond, drift}, 50, 30'000'000, 20'000, 0, 0, random));
        EXPECT_EQ(std::abs(fitted.model.drift), 200e-6);
        EXPECT_TRUE(std::isinf(fitted.drift_deviation)) << "another synchronisation may show another drift";
    }
}

TEST(ClockFit, DelayedSamplesCountForLittle) {
    std::mt19937_64 random(seed() + 1);
    for (int repetition = 0; repetition < test::repetitions(200); ++repetition) {
        ClockModel truth = random_model(random);
        truth.drift /= 2;
        // A third of the samples comes up to 2 ms late on the way back, which makes their offset a millisecond too small.
        std::vector<OffsetSample> samples = measure(truth, 60, 30'000'000, 20'000, 500, 2000, random);
        for (OffsetSample& sample : samples) {
            if (random() % 3) continue;
            const auto late = static_cast<Nanoseconds>(random() % 2'000'000);
            sample.round_trip += late;
            sample.local += late / 2;
            sample.offset -= late / 2;
        }
        const ClockFit fitted = fit(samples);
        const Nanoseconds end = truth.reference + 30'000'000;
        EXPECT_LE(std::abs(fitted.model.at(end) - truth.at(end)), 3000);
        EXPECT_LE(std::abs(fitted.model.at(end + kSecond) - truth.at(end + kSecond)), 100'000);
    }
}

TEST(ClockFit, DoubtsADriftThatNoiseHides) {
    std::mt19937_64 random(seed() + 2);
    double believed = 0, clear = 0;
    constexpr int kRepetitions = 100;
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
        // 100 us of noise in 1 ms could be any drift up to some percent; in 10 s it could not.
        believed += std::abs(fit(measure({kDay, 0, 0}, 20, 1'000'000, 20'000, 100'000, 100'000, random)).model.drift);
        const ClockFit fitted = fit(measure({kDay, 0, 50e-6}, 1000, 10 * kSecond, 20'000, 100'000, 100'000, random));
        clear += fitted.model.drift;
        EXPECT_LT(fitted.drift_deviation, 10e-6);
    }
    EXPECT_LT(believed / kRepetitions, 20e-6);
    EXPECT_NEAR(clear / kRepetitions, 50e-6, 3e-6);
}

// Where one message was fast, the line goes by it, however many slow ones say something else.
TEST(ClockFit, IsNeverOffByMoreThanTheShortestRoundTrip) {
    std::mt19937_64 random(seed() + 4);
    for (int repetition = 0; repetition < test::repetitions(500); ++repetition) {
        const ClockModel truth = random_model(random);
        // All the others are held up on one of the ways only.
        std::vector<OffsetSample> samples = measure(truth, 2000, 30'000'000, 200'000, repetition % 2 ? 50'000'000 : 0, 0, random);
        const std::size_t lucky = random() % samples.size();
        samples[lucky] = measure({samples[lucky].local, truth.at(samples[lucky].local) - samples[lucky].local, truth.drift}, 1, 1, 10'000,
                                 0, 0, random)[0];
        const ClockFit fitted = fit(samples);
        EXPECT_EQ(fitted.round_trip, 10'000);
        EXPECT_LE(std::abs(fitted.model.at(fitted.model.reference) - truth.at(fitted.model.reference)), 10'000);
    }
}

TEST(ClockFit, TooFewSamplesHaveNoDrift) {
    for (std::size_t count = 1; count < 5; ++count) {
        std::mt19937_64 random(1);
        const ClockFit fitted = fit(measure({kDay, 3 * kSecond, 50e-6}, count, 1'000'000, 20'000, 0, 0, random));
        EXPECT_EQ(fitted.model.drift, 0);
        EXPECT_NEAR(static_cast<double>(fitted.model.offset), 3e9, 60);
    }
    // Eight at the same moment say nothing of it either.
    const std::vector<OffsetSample> same(8, {kDay, 5, 10});
    EXPECT_EQ(fit(same).model.drift, 0);
    EXPECT_EQ(fit(same).model.at(kDay), kDay + 5);
}

TEST(CommonClock, IsTheHostsOwnUntilItIsSet) {
    CommonClock clock;
    EXPECT_FALSE(clock.synchronized());
    EXPECT_EQ(clock.at(12345), 12345);
    EXPECT_EQ(clock.own_at(12345), 12345);
    clock.set({{100, 1000, 0}, 7});
    EXPECT_TRUE(clock.synchronized());
    EXPECT_EQ(clock.at(12345), 13345);
    EXPECT_EQ(clock.own_at(13345), 12345);
    EXPECT_EQ(clock.clock().error, 7);
    clock.set({});  // Back to the identity. A clock that has once converted goes on reading its model.
    EXPECT_EQ(clock.at(12345), 12345);
}

TEST(CommonClock, GoesThroughTheHostsClock) {
    CommonClock clock({0, 500, 0});
    EXPECT_FALSE(clock.synchronized());
    EXPECT_EQ(clock.at(1), 501);
    clock.set({{0, 1000, 0}, 0});
    EXPECT_EQ(clock.at(1), 1501);
    EXPECT_EQ(clock.own_at(1501), 1);
}

TEST(CommonClock, IsNeverReadHalfWritten) {
    CommonClock clock;
    // Models that give the same time at 0 only as a whole: the drift takes back what reference and offset add.
    const auto model = [](Nanoseconds i) { return ClockModel{i * 1'000'000, i * 1000 + 1, 1e-3}; };
    clock.set({model(1), 0});
    std::atomic<bool> written{false};
    std::thread writer([&] {
        for (Nanoseconds i = 0; i < 200'000; ++i) clock.set({model(i % 1000), 0});
        written = true;
    });
    int wrong = 0;
    while (!written) wrong += clock.at(0) != 1;
    writer.join();
    EXPECT_EQ(wrong, 0);
}

TEST(Deadlines, NearForEverIsForEver) {
    EXPECT_EQ(deadline_after(kForever), kNever);
    EXPECT_EQ(deadline_after(Timeout(kNever - 1)), kNever);
    EXPECT_EQ(deadline_after(Timeout(kNever - monotonic_now() + 1)), kNever);
    EXPECT_LT(deadline_after(std::chrono::hours(1)), kNever);
    EXPECT_GT(deadline_after(std::chrono::hours(1)), monotonic_now());
}

TEST(ClockIdentity, IsOfBootAndTimeNamespace) {
    EXPECT_EQ(clock_identity("a"), clock_identity("a"));
    // Containers of one kernel share its clock under any name.
    EXPECT_EQ(clock_identity("a") == clock_identity("b"), !boot_identity().empty());
}

TEST(TestClock, IsSharedOutInOrder) {
    ::unsetenv("ROLLCALL_TEST_CLOCKS");
    EXPECT_EQ(test_clock(0, 4).number, 0u);
    EXPECT_TRUE(test_clock(0, 4).model.is_identity());
    ::setenv("ROLLCALL_TEST_CLOCKS", "0:0,-2000000000:40.5", 1);
    EXPECT_EQ(test_clock(0, 4).number, 1u);
    EXPECT_EQ(test_clock(1, 4).number, 1u);
    EXPECT_EQ(test_clock(2, 4).number, 2u);
    EXPECT_EQ(test_clock(3, 4).number, 2u);
    EXPECT_EQ(test_clock(3, 4).model.at(0), -2'000'000'000);
    EXPECT_DOUBLE_EQ(test_clock(3, 4).model.drift, 40.5e-6);
    for (const char* wrong : {"1", "1:", ":1", "1:2,", "a:b", "1:2;3:4"}) {
        ::setenv("ROLLCALL_TEST_CLOCKS", wrong, 1);
        EXPECT_THROW(test_clock(0, 1), Error) << wrong;
    }
    ::unsetenv("ROLLCALL_TEST_CLOCKS");
}

TEST(HostTree, FirstRanksBetweenAndTheOthersWithin) {
    using collectives::host_tree;
    const std::vector<int> hosts = {5, 5, 7, 5, 7, 9};
    EXPECT_EQ(collectives::count_hosts(hosts), 3);
    EXPECT_EQ(host_tree(hosts, 0).hosts.children, (std::vector<int>{2, 5}));
    EXPECT_EQ(host_tree(hosts, 0).within.children, (std::vector<int>{1, 3}));
    EXPECT_EQ(host_tree(hosts, 2).hosts.parent, 0);
    EXPECT_EQ(host_tree(hosts, 2).within.children, (std::vector<int>{4}));
    EXPECT_EQ(host_tree(hosts, 4).hosts.parent, -1);
    EXPECT_TRUE(host_tree(hosts, 4).hosts.children.empty());
    EXPECT_EQ(host_tree(hosts, 4).within.parent, 2);
    EXPECT_EQ(host_tree(hosts, 5).hosts.parent, 0);
    EXPECT_EQ(host_tree(hosts, 5).within.parent, -1);
}

// Each rank is reached exactly once, whatever the order of the ranks.
TEST(HostTree, SpansAllRanks) {
    std::mt19937_64 random(seed() + 3);
    for (int repetition = 0; repetition < test::repetitions(300); ++repetition) {
        const int ranks = 1 + static_cast<int>(random() % 40), most_hosts = 1 + static_cast<int>(random() % 16);
        std::vector<int> hosts(static_cast<std::size_t>(ranks));
        for (int& host : hosts) host = static_cast<int>(random() % static_cast<unsigned>(most_hosts));
        std::vector<int> parents(static_cast<std::size_t>(ranks), -1);
        for (int rank = 0; rank < ranks; ++rank) {
            const auto place = collectives::host_tree(hosts, rank);
            ASSERT_TRUE(place.hosts.parent < 0 || place.within.parent < 0);
            for (const auto* tree : {&place.hosts, &place.within})
                for (const int child : tree->children) {
                    ASSERT_EQ(parents[static_cast<std::size_t>(child)], -1);
                    parents[static_cast<std::size_t>(child)] = rank;
                    const auto other = collectives::host_tree(hosts, child);
                    ASSERT_EQ(tree == &place.hosts ? other.hosts.parent : other.within.parent, rank);
                    const bool together = hosts[static_cast<std::size_t>(child)] == hosts[static_cast<std::size_t>(rank)];
                    ASSERT_EQ(together, tree == &place.within);
                }
        }
        for (int rank = 1; rank < ranks; ++rank) ASSERT_GE(parents[static_cast<std::size_t>(rank)], 0);
        ASSERT_EQ(parents[0], -1);
    }
}

}  // namespace
}  // namespace rollcall::runtime
