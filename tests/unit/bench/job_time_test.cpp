/// \file
/// Correction of times by what is known afterwards.
#include "bench/ranks/job_time.hpp"

#include <gtest/gtest.h>

namespace rollcall::bench {
namespace {

TEST(ClockCorrection, SharesOutWhatIsMissing) {
    const ClockCorrection correction{1'000'000, 3'000'000, 100};
    EXPECT_EQ(correction.at(1'000'000), 1'000'000);
    EXPECT_EQ(correction.at(2'000'000), 2'000'050);
    EXPECT_EQ(correction.at(3'000'000), 3'000'100);
    const ClockCorrection back{0, 10, -10};
    EXPECT_EQ(back.at(5), 0);
}

TEST(ClockCorrection, OfNothingChangesNothing) {
    EXPECT_EQ(ClockCorrection().at(12345), 12345);
    EXPECT_EQ((ClockCorrection{7, 7, 100}).at(12345), 12345);  // no time in between
    EXPECT_EQ((ClockCorrection{0, 9, 0}).at(1'000'000'000'000'000'001), 1'000'000'000'000'000'001);
}

}  // namespace
}  // namespace rollcall::bench
