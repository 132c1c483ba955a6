// How many ranks of a job may fail, and which exit code it has then.
#include "launcher/failures.hpp"

#include <gtest/gtest.h>

namespace rollcall::launcher {
namespace {

TEST(Failures, OfOneRankAreTooManyUnlessMoreAreAllowed) {
    Failures none(0), one(1);
    EXPECT_FALSE(none.too_many() || one.too_many() || none.any());
    none.count({3}, 137);
    one.count({3}, 137);
    EXPECT_TRUE(none.too_many());
    EXPECT_FALSE(one.too_many());
    EXPECT_TRUE(one.any() && one.has(3) && !one.has(2));
    one.count({2}, 1);
    EXPECT_TRUE(one.too_many());
}
TEST(Failures, OfARankCountOnceAndOfAHostOnceForEachRank) {
    Failures failures(2);
    failures.count({3}, 7);
    failures.count({2, 3}, 125);
    EXPECT_FALSE(failures.too_many());
    EXPECT_EQ(failures.excuse(), "--max-failures allows 2 failures (2 so far)");
    failures.count({4, 5}, 125);
    EXPECT_TRUE(failures.too_many());
}
TEST(Failures, AreNeverTooManyIfAllRanksMayFail) {
    Failures all(kAllMayFail);
    std::vector<int> ranks(kMostRanks);
    for (int rank = 0; rank < kMostRanks; ++rank) ranks[static_cast<std::size_t>(rank)] = rank;
    all.count(ranks, 1);
    EXPECT_FALSE(all.too_many());
    EXPECT_EQ(all.excuse(), "--max-failures allows all ranks to fail (65536 so far)");
}
TEST(Failures, GiveTheCodeOfTheFirstOneUnlessARankEndedWell) {
    Failures failures(5);
    EXPECT_EQ(failures.code(), 0);
    failures.count({1}, 137);
    failures.count({2}, 5);
    EXPECT_EQ(failures.code(), 137);
    failures.ended_well();
    EXPECT_EQ(failures.code(), 0);
    EXPECT_EQ(failures.first_code(), 137);
}

}  // namespace
}  // namespace rollcall::launcher
