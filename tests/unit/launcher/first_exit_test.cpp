// Which of two failures was the first one: the exit of a survivor, or a kill on another host that is reported later.
#include <gtest/gtest.h>

#include "launcher/first_exit.hpp"

namespace rollcall::launcher {
namespace {

constexpr FirstExit kFirst{.host = 1, .time = 5'000'000'000};

Exit killed_by(int signal) {
    Exit exit;
    exit.code = 128 + signal;
    exit.signalled = true;
    return exit;
}

TEST(FirstExit, YieldsToAKillOnAnotherHostThatIsReportedSoonAfterwards) {
    EXPECT_TRUE(counts_as_first(killed_by(SIGKILL), 2, kFirst.time, kFirst));
    EXPECT_TRUE(counts_as_first(killed_by(SIGKILL), 0, kFirst.time + kMostOvertaken, kFirst));
}
TEST(FirstExit, StandsAgainstALaterKill) { EXPECT_FALSE(counts_as_first(killed_by(SIGKILL), 2, kFirst.time + kMostOvertaken + 1, kFirst)); }
TEST(FirstExit, StandsAgainstAKillOnItsOwnHost) { EXPECT_FALSE(counts_as_first(killed_by(SIGKILL), 1, kFirst.time, kFirst)); }
TEST(FirstExit, StandsAgainstOtherEnds) {
    EXPECT_FALSE(counts_as_first(killed_by(SIGSEGV), 2, kFirst.time, kFirst));
    Exit exit = killed_by(SIGKILL);
    exit.signalled = false;  // The program itself ended with 137.
    EXPECT_FALSE(counts_as_first(exit, 2, kFirst.time, kFirst));
}

}  // namespace
}  // namespace rollcall::launcher
