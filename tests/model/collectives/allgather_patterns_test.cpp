// The allgathers of J. Proficz for arrivals that differ: the examples in their files, and what is left to do after the last arrival.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/model/collectives/scatter_gather.hpp"

namespace rollcall::model_test::scatter_gather_equations {
namespace {

const AlgorithmEntry& allgather_called(std::string_view name) { return collectives::find_algorithm(OperationKind::allgather, name); }

TEST(AllgatherExamples, BackgroundDisseminatedRing) {
    constexpr Nanoseconds kBlock = 1000;
    const Setting setting{.bytes = kBlock, .root = -1, .planned = true};
    EXPECT_EQ(run(allgather_called("background_disseminated_ring"), {0, 0, 9 * kBlock, 0}, setting),
              (Times{12 * kBlock, 12 * kBlock, 10 * kBlock, 11 * kBlock}));
}

TEST(AllgatherExamples, BackgroundSortedLinearBroadcast) {
    constexpr Nanoseconds kUnit = 100;
    const Setting setting{
        .alpha = kUnit, .bytes = 4 * kUnit, .root = -1, .planned = true, .full_duplex = false, .predictions = {9 * kUnit, 0, 3 * kUnit}};
    EXPECT_EQ(run(allgather_called("background_sorted_linear_broadcast"), {9 * kUnit, 3 * kUnit, 0}, setting),
              (Times{39 * kUnit, 26 * kUnit, 39 * kUnit}));
}

// When the last rank arrives, everything else is there: it is called, its block moves, and all blocks go down the tree.
TEST(Proficz, TheBroadcastIsAllThatFollowsTheLastBlock) {
    constexpr Nanoseconds kLate = 1'000'000, kAlpha = 50, kBytes = 40;
    for (const int n : {2, 3, 5, 8, 16, 33})
        for (const int late : {0, 1, n - 1}) {
            Setting setting{.alpha = kAlpha, .bytes = kBytes, .root = -1, .planned = true};
            const Times exits = run(allgather_called("background_sorted_linear_broadcast"), all_but(n, late, kLate), setting);
            const int levels = std::bit_width(static_cast<unsigned>(n - 1));
            const Nanoseconds last_block = late == 0 ? 0 : 3 * kAlpha + kBytes;
            EXPECT_LE(*std::max_element(exits.begin(), exits.end()), kLate + last_block + levels * setting.message(n)) << n << " " << late;
        }
}

}  // namespace
}  // namespace rollcall::model_test::scatter_gather_equations
