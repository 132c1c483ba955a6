/// \file
/// Every algorithm of every collective operation, and plans of them, between real processes; the scenarios are in ranks/operations.cpp.
#include "tests/process/algorithms.hpp"

namespace rollcall::test {
namespace {

/// For "plans" under a setting: short data and long data, in three iterations, which have all forms of a call.
std::string few_plans(int greatest_sleep = 300) { return fmt::format(":3:{}:{}:few", a_seed(), greatest_sleep); }

class Operations : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Operations, testing::ValuesIn(rank_counts()), testing::PrintToStringParamName());

/// A job for each three operations: all together could take longer than a job of tests may.
void expect_success_by_operation(int ranks, const std::string& scenario, const std::string& rest = "") {
    Words scenarios;
    int operations = 0;
    const auto run = [&] {
        if (!scenarios.empty()) expect_success(ranks, scenarios);
        scenarios.clear();
    };
    for (const OperationInTable& operation : operations_in_table()) {
        if (!operation.moves_data) continue;
        for (const std::string& algorithm : algorithms(operation))
            scenarios.push_back(scenario + ":" + operation.name + ":" + algorithm + rest);
        if (++operations % 3 == 0) run();
    }
    run();
}

TEST_P(Operations, EveryAlgorithm) { expect_success_by_operation(GetParam(), "calls", ":" + a_seed()); }
TEST_P(Operations, SeveralAtOnce) { expect_success(GetParam(), for_all_operations("started_calls")); }
TEST_P(Operations, EveryFace) { expect_success(GetParam(), {"faces"}); }
TEST_P(Operations, Reductions) { expect_success(GetParam(), {"reductions"}); }
TEST_P(Operations, Exchanges) { expect_success(GetParam(), {"exchanges", "exchanges_by_all_algorithms:" + a_seed()}); }
TEST_P(Operations, Containers) { expect_success(GetParam(), {"containers"}); }
TEST_P(Operations, ImpossibleSizesAreRefused) { expect_success(GetParam(), {"impossible_sizes"}); }
TEST_P(Operations, PlansWithEveryKindOfPhase) {
    expect_success_by_operation(GetParam(), "plans", fmt::format(":{}:{}", kSanitized || GetParam() > 3 ? 3 : 6, a_seed()));
}
TEST_P(Operations, PlansAndOtherCallsInterleaved) { expect_success(GetParam(), {"interleaved_plans"}); }
TEST_P(Operations, PlansRefuseMisuse) { expect_success(GetParam(), {"plan_misuse"}); }

TEST_P(Operations, BlocksOfOwnSizes) {
    expect_success(GetParam(), {"blocks_by_all_algorithms:" + a_seed(), "blocks_in_all_forms", "blocks_that_are_none"});
}
TEST(Blocks, ThatDoNotMatch) { expect_success(3, {"blocks_that_do_not_match:scatter", "blocks_that_do_not_match:gather"}); }
TEST(Blocks, FarApart) { expect_success(4, {"blocks_far_apart"}); }
TEST(Blocks, OfEveryDistribution) { expect_success(kSlower > 1 ? 9 : 33, {"blocks_of_every_distribution"}); }
TEST(Blocks, TravelInTheTreesThatTheirSizesGive) {
    for (const int ranks : kSlower > 1 ? std::vector{3, 6} : std::vector{2, 3, 5, 8, 13})
        expect_success(ranks, {fmt::format("block_trees:{}:{}", a_seed(), kSanitized ? 40 : 80)});
}
TEST(Blocks, UntilDelivered) { expect_success(2, {"blocks_until_delivered"}); }
TEST(Blocks, WithZeroLanding) { expect_success(3, {"blocks_by_all_algorithms:" + a_seed()}, with({"ROLLCALL_LANDING_BYTES=0"})); }

TEST(Exchanges, ThatDoNotMatch) { expect_success(3, {"exchanges_that_do_not_match"}); }
TEST(Exchanges, OverTcp) {
    expect_success(4, {"exchanges", "exchanges_by_all_algorithms:" + a_seed(), "exchanges_that_do_not_match"},
                   with({"UCX_TLS=tcp,self", "ROLLCALL_NODE_MEMORY=no"}));
}
// Data that finds no room there goes by messages.
TEST(Exchanges, WithLittleNodeMemory) {
    expect_success(6,
                   {"started_calls:alltoall", "calls:alltoall:shared_memory:" + a_seed() + ":1024",
                    "calls:allgather:shared_memory:" + a_seed() + ":1024"},
                   with({"ROLLCALL_LANDING_BYTES=600000"}));
}
// Ranks 1 and 3 come late.
TEST(Exchanges, EarlyRanksDoNotWaitForLateOnes) {
    const Words by_messages = {"early_ranks_exchange:alltoall:arrival_ordered",
                               "early_ranks_exchange:alltoall:arrival_ordered:1:100",
                               "early_ranks_exchange:alltoall:linear",
                               "early_ranks_exchange:allgather:linear",
                               "early_ranks_exchange:allgather:background_disseminated_ring",
                               "early_ranks_exchange:allgather:background_disseminated_ring:1:100"};
    Words all = by_messages;
    all.insert(all.end(), {"early_ranks_exchange:alltoall:shared_memory", "early_ranks_exchange:allgather:shared_memory"});
    expect_success(4, all);
    expect_success(4, by_messages, with({"UCX_TLS=tcp,self", "ROLLCALL_NODE_MEMORY=no"}));
    // Where nothing lands, a rank that has offered a block to a late one serves those that have come nevertheless.
    expect_success(4, {"early_ranks_exchange:alltoall:arrival_ordered"}, with({"ROLLCALL_LANDING_BYTES=0"}));
}
TEST(Exchanges, WithZeroLanding) { expect_success(3, {"exchanges_by_all_algorithms:" + a_seed()}, with({"ROLLCALL_LANDING_BYTES=0"})); }

TEST(Plans, WithZeroLanding) {
    expect_success(3, for_all_algorithms("plans", few_plans(), kByMessages), with({"ROLLCALL_LANDING_BYTES=0"}));
    expect_success(3, for_all_algorithms("plans", few_plans(), kByMessages), with({"ROLLCALL_LANDING_BYTES=30000"}));
}
TEST(Plans, WithHostDrivenProgress) { expect_success(3, for_all_algorithms("plans", few_plans()), with({"ROLLCALL_PROGRESS=host"})); }
TEST(Plans, OfBlocksAreSelectedAsPlans) { expect_success(3, {"plan_of_blocks_is_planned"}, with({"ROLLCALL_NODE_MEMORY=no"})); }
TEST(Plans, WithoutSlotsOnTheBoard) {
    expect_success(4, {"plan_without_slots"}, with({"ROLLCALL_BOARD_SLOTS=4"}));
    expect_success(4, for_all_algorithms("plans", few_plans(), kByMessages), with({"ROLLCALL_BOARD_SLOTS=5"}));
}
TEST(Plans, WakeParkedRanks) {
    expect_success(4, for_all_algorithms("plans", few_plans(1000)),
                   with({"ROLLCALL_SPIN=0", "ROLLCALL_PROGRESS_QUIET=0", "ROLLCALL_PROGRESS_TICK=20us"}));
}
TEST(Plans, PassDataOnBeforeTheirCallers) {
    const Words words = {"begun_plan_passes_on:pipelined", "begun_plan_passes_on:binomial", "begun_plan_passes_on:linear:1",
                         "begun_plan_passes_on:binomial:8"};
    expect_success(4, words, with({"ROLLCALL_NODE_MEMORY=no"}));
    expect_success(5, words, with({"UCX_TLS=tcp,self", "ROLLCALL_NODE_MEMORY=no"}));
}
TEST(Plans, LeftByOneRank) {
    expect_success(3,
                   {"left_plan:broadcast:binomial", "left_plan:scatter:linear", "left_plan:gather:background_sorted_linear_synchronized"});
}
TEST(Plans, DroppedInMidPhase) { expect_success(3, for_all_algorithms("dropped_plan")); }

}  // namespace
}  // namespace rollcall::test
