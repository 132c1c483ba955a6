// Scatter and gather with random arrival patterns and predictions, and the examples at the head of the algorithms' files, exact to the
// nanosecond.
#include "tests/model/collectives/scatter_gather.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::model_test::scatter_gather_equations {
namespace {

// --- any pattern, any prediction -----------------------------------------------------------------------------------------

struct Pattern {
    Setting setting;
    Times a;
};
Pattern random_pattern(Random& random) {
    Pattern pattern;
    const int P = static_cast<int>(random.between(2, kSanitized ? 12 : 40));
    pattern.setting.root = static_cast<int>(random.below(static_cast<std::uint64_t>(P)));
    pattern.setting.alpha = random.pick(std::vector<Nanoseconds>{0, 50, 1000});
    pattern.setting.planned = true;
    const Nanoseconds scale = random.pick(std::vector<Nanoseconds>{1000, 20'000, 200'000});
    pattern.a = random_delays(random, P, pattern.setting.root, scale);
    // All arrivals differ, so that it is clear which rank comes first.
    for (std::size_t i = 0; i < pattern.a.size(); ++i) pattern.a[i] = pattern.a[i] * 64 + static_cast<Nanoseconds>(i);
    pattern.setting.predictions = random_delays(random, P, pattern.setting.root, 64 * scale);
    return pattern;
}

// Wrong predictions cost a planned scatter nothing. Whatever the order, a late rank does not stop the root.
TEST(Proficz, BackgroundScattersNeedNoGoodPredictions) {
    Random random(61);
    for (int repetition = 0; repetition < repetitions(1000) && !HasFailure(); ++repetition) {
        const auto [s, a] = random_pattern(random);
        const auto P = static_cast<int>(a.size());
        const Nanoseconds a_0 = a[static_cast<std::size_t>(s.root)], last = *std::max_element(a.begin(), a.end());
        for (const auto* name : {"background_sorted_linear", "online_linear"}) {
            const Times f = run(scatter(name), a, s);
            EXPECT_EQ(f[static_cast<std::size_t>(s.root)], a_0 + (P - 1) * s.message(1)) << name;
            EXPECT_EQ(*std::max_element(f.begin(), f.end()), std::max(last, a_0 + (P - 1) * s.message(1))) << name;
        }
        // Calls are not planned, and the blocks can land.
        const Times landed = run(scatter("online_linear"), a, {.alpha = s.alpha, .root = s.root, .landing_bytes = std::uint64_t{1} << 40});
        EXPECT_EQ(landed[static_cast<std::size_t>(s.root)], a_0 + (P - 1) * s.message(1));
        EXPECT_EQ(*std::max_element(landed.begin(), landed.end()), std::max(last, a_0 + (P - 1) * s.message(1)));
        Tree tree(P, true, true, s);
        const Times f = run(scatter("background_sorted_binomial"), a, s);
        EXPECT_EQ(*std::max_element(f.begin(), f.end()), std::max(last, a_0 + tree.scatter()));
    }
}

// Nothing can land and no call is planned. A block sent ahead to a rank that does not come stays at the root, which goes on. The other
// ranks lose the time of the messages that say so, but do not wait for the late rank.
TEST(Proficz, OnlineScatterGoesOnWithoutLanding) {
    for_every_job([](int P, Setting s) {
        const Nanoseconds r_LIN = (P - 1) * s.message(1), d = 10 * r_LIN;
        for (const int late : {(s.root + 1) % P, (s.root + P - 1) % P}) {
            const Times a = all_but(P, late, d);
            const Times f = run(scatter("online_linear"), a, s);
            for (int rank = 0; rank < P; ++rank)
                if (rank == late || rank == s.root)
                    EXPECT_EQ(f[static_cast<std::size_t>(rank)], d + s.message(1));
                else
                    EXPECT_LE(f[static_cast<std::size_t>(rank)], r_LIN + 2 * s.alpha);
        }
    });
}

// A root that calls whichever rank has arrived is never idle while a rank waits. Its time is that of a queue with service time 3 alpha +
// N/P beta, whatever was predicted. A call ahead of an arrival costs at most its own alpha, once.
TEST(Proficz, BackgroundGathersNeedNoGoodPredictions) {
    Random random(62);
    for (int repetition = 0; repetition < repetitions(1000) && !HasFailure(); ++repetition) {
        const auto [s, a] = random_pattern(random);
        Times others = a;
        others.erase(others.begin() + s.root);
        std::sort(others.begin(), others.end());
        Nanoseconds queue = 0;
        for (const Nanoseconds arrival : others) queue = std::max(queue, arrival) + 3 * s.alpha + s.bytes * s.beta;
        queue = std::max(queue, a[static_cast<std::size_t>(s.root)]);
        const Times online = run(gather("online_linear"), a, half_duplex(s));
        EXPECT_EQ(*std::max_element(online.begin(), online.end()), queue);
        const Times ahead = run(gather("background_sorted_linear_synchronized"), a, half_duplex(s));
        EXPECT_LE(*std::max_element(ahead.begin(), ahead.end()), queue + s.alpha);
    }
}

// A rank that was called before it came is served alone once it is there. A root with free ports does not call the next rank before the
// first piece has arrived. Rank 1 comes at 5, and its pieces take until 8, each through a port. Rank 2 is called until 9.
TEST(Proficz, BackgroundGatherServesOneAtATime) {
    constexpr Nanoseconds kAlpha = 1000;
    Setting setting{.alpha = kAlpha, .bytes = 4 * kAlpha, .planned = true, .ports = 2};
    setting.predictions = {0, 0, 9 * kAlpha};
    const Times f = run(gather("background_sorted_linear_synchronized"), {0, 5 * kAlpha, 5 * kAlpha + 1}, setting);
    EXPECT_EQ(f, (Times{12 * kAlpha, 8 * kAlpha, 12 * kAlpha}));
}

// --- the examples in the algorithms' files -------------------------------------------------------------------------------

constexpr Nanoseconds T = 1000;  // The time of a block.

TEST(Example, ScatterLinear) { EXPECT_EQ(run(scatter("linear"), {0, 5 * T, 0, 0}, {}), (Times{8 * T, 6 * T, 7 * T, 8 * T})); }

TEST(Example, ScatterSortedLinear) {
    EXPECT_EQ(run(scatter("sorted_linear"), {0, 5 * T, 0, 0}, planned({})), (Times{6 * T, 6 * T, T, 2 * T}));
}

TEST(Example, ScatterBackgroundSortedLinear) {
    EXPECT_EQ(run(scatter("background_sorted_linear"), {0, 5 * T, 0, 0}, planned({})), (Times{3 * T, 5 * T, T, 2 * T}));
}

TEST(Example, ScatterOnlineLinear) {
    EXPECT_EQ(run(scatter("online_linear"), {0, 9 * T, T / 2, 5 * T}, {.landing_bytes = 1 << 20}), (Times{3 * T, 9 * T, 2 * T, 5 * T}));
}

TEST(Example, ScatterBinomial) { EXPECT_EQ(run(scatter("binomial"), Times(8, 0), {}), Times(8, 7 * T)); }

TEST(Example, ScatterSortedBinomial) {
    EXPECT_EQ(run(scatter("sorted_binomial"), all_but(8, 1, 9 * T), planned({})),
              (Times{7 * T, 10 * T, 7 * T, 7 * T, 10 * T, 7 * T, 7 * T, 7 * T}));
}

TEST(Example, ScatterBackgroundSortedBinomial) {
    EXPECT_EQ(run(scatter("background_sorted_binomial"), all_but(8, 1, 9 * T), planned({})),
              (Times{7 * T, 9 * T, 7 * T, 7 * T, 7 * T, 7 * T, 7 * T, 7 * T}));
}

TEST(Example, GatherLinear) { EXPECT_EQ(run(gather("linear"), {0, 5 * T, 0, 0}, {}), (Times{8 * T, 6 * T, 7 * T, 8 * T})); }

TEST(Example, GatherLinearSynchronized) {
    const Setting setting{.alpha = T, .bytes = 4 * T, .full_duplex = false};
    EXPECT_EQ(run(gather("linear_synchronized"), Times(3, 0), setting), (Times{14 * T, 7 * T, 14 * T}));
    EXPECT_EQ(run(gather("sorted_linear_synchronized"), {0, 9 * T, 0}, planned(setting)), (Times{15 * T, 15 * T, 7 * T}));
    EXPECT_EQ(run(gather("online_linear"), {0, 9 * T, 0}, setting), (Times{16 * T, 16 * T, 7 * T}));
    // Without plans, the background root calls ranks 1 and 2 before they come, and has their pieces 2 alpha + 4 later.
    EXPECT_EQ(run(gather("background_sorted_linear_synchronized"), {0, 5 * T, 20 * T}, setting), (Times{26 * T, 11 * T, 26 * T}));
    Setting wrong = planned(setting);
    wrong.predictions = {9 * T, 0, 3 * T};
    EXPECT_EQ(run(gather("background_sorted_linear_synchronized"), {9 * T, 3 * T, 0}, wrong), (Times{13 * T, 13 * T, 7 * T}));
}

TEST(Example, GatherBinomial) { EXPECT_EQ(run(gather("binomial"), Times(8, 0), {}), (Times{7 * T, T, 3 * T, T, 7 * T, T, 3 * T, T})); }

TEST(Example, GatherSortedBinomial) {
    EXPECT_EQ(run(gather("sorted_binomial"), all_but(4, 3, 5 * T), planned({})), (Times{8 * T, 6 * T, T, 8 * T}));
}

TEST(Example, GatherBackgroundSortedBinomial) {
    EXPECT_EQ(run(gather("background_sorted_binomial"), all_but(4, 3, 5 * T), planned({})), (Times{7 * T, T, T, 7 * T}));
}

}  // namespace
}  // namespace rollcall::model_test::scatter_gather_equations
