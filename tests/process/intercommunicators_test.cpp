/// \file
/// Two groups exchange data between real processes. The scenarios are in ranks/intercommunicators.cpp and
/// ranks/intercommunicator_faults.cpp.
#include <csignal>

#include "tests/process/algorithms.hpp"

namespace rollcall::test {
namespace {

std::string rounds(int count) { return std::to_string(kSanitized ? 1 : count) + ":"; }

class Intercommunicators : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Intercommunicators, testing::ValuesIn(kSanitized ? std::vector<int>{3, 5} : std::vector<int>{2, 3, 5, 8}),
                         testing::PrintToStringParamName());

TEST_P(Intercommunicators, MoveAllDataToWhereItBelongs) { expect_success(GetParam(), {"intercommunicators:" + rounds(3) + a_seed()}); }

// The model tests have every algorithm with groups of up to twelve ranks.
TEST(Intercommunicators, OfEverySizeExchangeBlocks) { expect_success(kSanitized ? 6 : 12, {"groups_of_every_size:" + a_seed()}); }
TEST(Intercommunicators, OfUpToTwelveRanksExchangeBlocks) {
    expect_success(kSanitized ? 8 : 24, {"groups_of_every_size:" + a_seed() + ":one"});
}

TEST(Intercommunicators, WithHostDrivenProgressAndWithoutLanding) {
    expect_success(4, {"intercommunicators:1:" + a_seed()}, {.environment = {"ROLLCALL_PROGRESS=host"}, .launcher = {}});
    expect_success(4, {"intercommunicators:1:" + a_seed()}, {.environment = {"ROLLCALL_LANDING_BYTES=0"}, .launcher = {}});
}
// Between nodes, and in groups that are on one node among others that are not.
TEST(Intercommunicators, WithoutNodeMemory) {
    expect_success(5, {"intercommunicators:" + rounds(2) + a_seed()}, {.environment = {"ROLLCALL_NODE_MEMORY=no"}, .launcher = {}});
    expect_success(5, {"intercommunicators:" + rounds(2) + a_seed()}, {.environment = {"ROLLCALL_NODE_RANKS=3"}, .launcher = {}});
    expect_success(3, {"wrong_intercommunicators"}, {.environment = {"ROLLCALL_NODE_MEMORY=no"}, .launcher = {}});
}
// The board has slots for the world and the two groups, but not for all of their plans.
TEST(Intercommunicators, WithPlansThatHaveNoSlots) {
    expect_success(5, {"intercommunicators:" + rounds(2) + a_seed()}, {.environment = {"ROLLCALL_BOARD_SLOTS=14"}, .launcher = {}});
}
TEST(Intercommunicators, TellEverybodyOfADeath) {
    const Ended ended = run_ranks(4, {"death_between_groups"}, {.environment = {}, .launcher = {"--grace", "60s"}});
    EXPECT_EQ(ended.code, 128 + SIGKILL) << ended.out << ended.error;
    EXPECT_EQ(lines_with(ended.out, "was told of the death").size(), 3u) << ended.out << ended.error;
}
TEST(Intercommunicators, SayWhatIsWrong) { expect_success(3, {"wrong_intercommunicators"}); }

TEST(Intercommunicators, PlanWhereTheFirstRankHasNoPart) {
    expect_success(4, {"plans_without_a_part"});
    // The plans find no slots on the board.
    expect_success(4, {"plans_without_a_part"}, {.environment = {"ROLLCALL_BOARD_SLOTS=10"}, .launcher = {}});
}

}  // namespace
}  // namespace rollcall::test
