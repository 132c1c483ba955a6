/// \file
/// Scatter, gather and plans between real processes; the scenarios are in ranks/blocks.cpp.
#include <span>

#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

const char* const kScatters[] = {
    "linear", "binomial", "sorted_linear", "background_sorted_linear", "sorted_binomial", "background_sorted_binomial", "online_linear"};
const char* const kGathers[] = {
    "linear",          "linear_synchronized",        "binomial",     "sorted_linear_synchronized", "background_sorted_linear_synchronized",
    "sorted_binomial", "background_sorted_binomial", "online_linear"};

JobOptions with(Words environment) { return {.environment = std::move(environment), .launcher = {}}; }

// "NAME:scatter:ALGORITHM<rest>" for each of them, and the same for gather.
Words for_all(const std::string& name, const std::string& rest = "") {
    Words scenarios;
    for (const char* algorithm : kScatters) scenarios.push_back(name + ":scatter:" + algorithm + rest);
    for (const char* algorithm : kGathers) scenarios.push_back(name + ":gather:" + algorithm + rest);
    return scenarios;
}
std::string joined(const std::string& name, std::span<const char* const> algorithms) {
    std::string words = name;
    for (const char* algorithm : algorithms) words += std::string(":") + algorithm;
    return words;
}
std::string iterations(int count) {
    return ":" + std::to_string(std::max(3, count / kSlower)) + ":" + std::to_string(seed() % 1'000'000'000);
}

class Blocks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Blocks, testing::ValuesIn(rank_counts()), testing::PrintToStringParamName());

TEST_P(Blocks, EveryScatterAndGather) { expect_success(GetParam(), for_all("blocks")); }
TEST_P(Blocks, SeveralAtOnce) {
    expect_success(GetParam(), {joined("started_blocks:scatter", kScatters), joined("started_blocks:gather", kGathers)});
}
TEST_P(Blocks, PlansWithEveryKindOfPhase) { expect_success(GetParam(), for_all("plans", iterations(12))); }
TEST_P(Blocks, PlansAndOtherCallsInterleaved) { expect_success(GetParam(), {"interleaved_plans"}); }
TEST_P(Blocks, PlansRefuseMisuse) { expect_success(GetParam(), {"plan_misuse"}); }

TEST(Plans, WithZeroLanding) {
    expect_success(3, for_all("blocks"), with({"ROLLCALL_LANDING_BYTES=0"}));
    expect_success(3, for_all("plans", iterations(8)), with({"ROLLCALL_LANDING_BYTES=0"}));
    expect_success(3, for_all("plans", iterations(8)), with({"ROLLCALL_LANDING_BYTES=30000"}));
}
TEST(Plans, WithHostDrivenProgress) { expect_success(3, for_all("plans", iterations(5)), with({"ROLLCALL_PROGRESS=host"})); }
TEST(Plans, WithoutSlotsOnTheBoard) {
    expect_success(4, {"plan_without_slots"}, with({"ROLLCALL_BOARD_SLOTS=4"}));
    expect_success(4, for_all("plans", iterations(5)), with({"ROLLCALL_BOARD_SLOTS=5"}));
}
TEST(Plans, WakeParkedRanks) {
    expect_success(4, for_all("plans", iterations(5) + ":4000"),
                   with({"ROLLCALL_SPIN=0", "ROLLCALL_PROGRESS_QUIET=0", "ROLLCALL_PROGRESS_TICK=20us"}));
}
TEST(Plans, LeftByOneRank) { expect_success(3, {"left_plan:scatter:linear", "left_plan:gather:background_sorted_linear_synchronized"}); }
TEST(Plans, DroppedInMidPhase) { expect_success(3, for_all("dropped_plan")); }

}  // namespace
}  // namespace rollcall::test
