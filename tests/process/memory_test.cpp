/// \file
/// What early messages cost their receiver: the budget holds, whatever comes. What each scenario checks is in ranks/memory.cpp.
#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

JobOptions with(Words environment) { return {.environment = std::move(environment), .launcher = {}}; }

TEST(EarlyMemory, IsWithinTheBudgetWithWhatIsKept) {
    expect_success(2, {"landing_of_many_sizes:32"}, with({"ROLLCALL_LANDING_BYTES=32Mi"}));
}

// Offered ones wait at their senders; here they are known by a few hundred bytes each.
TEST(EarlyMemory, OfOfferedMessagesIsSmall) {
    expect_success(2, {"cost_of_early_messages:10000:16384:500:1048576"}, with({"ROLLCALL_LANDING_BYTES=1Mi"}));
    expect_success(3, {"cost_of_early_messages:10000:16384:500:1048576"}, with({"ROLLCALL_LANDING_BYTES=1Mi"}));
}

TEST(EarlyMemory, OfSmallMessagesIsBounded) {
    expect_success(2, {"cost_of_early_messages:40000:8:500:4194304"}, with({"ROLLCALL_LANDING_BYTES=4Mi"}));
    expect_success(2, {"cost_of_early_messages:40000:0:500:4194304"}, with({"ROLLCALL_LANDING_BYTES=4Mi"}));
}

}  // namespace
}  // namespace rollcall::test
