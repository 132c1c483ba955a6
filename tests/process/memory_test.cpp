/// \file
/// The cost of early messages for their receiver: the budget holds, whatever arrives. ranks/memory.cpp says what each scenario checks.
#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

JobOptions with(Words environment) { return {.environment = std::move(environment), .launcher = {}}; }

TEST(EarlyMemory, IsWithinTheBudgetWithWhatIsKept) {
    expect_success(2, {"landing_of_many_sizes:32"}, with({"ROLLCALL_LANDING_BYTES=32Mi"}));
}

// Offered messages wait at their senders. The receiver keeps a few hundred bytes for each.
TEST(EarlyMemory, OfOfferedMessagesIsSmall) {
    expect_success(2, {"cost_of_early_messages:10000:16384:500:1048576"}, with({"ROLLCALL_LANDING_BYTES=1Mi"}));
    expect_success(3, {"cost_of_early_messages:10000:16384:500:1048576"}, with({"ROLLCALL_LANDING_BYTES=1Mi"}));
}

TEST(EarlyMemory, OfSmallMessagesIsBounded) {
    expect_success(2, {"cost_of_early_messages:40000:8:500:4194304"}, with({"ROLLCALL_LANDING_BYTES=4Mi"}));
    expect_success(2, {"cost_of_early_messages:40000:0:500:4194304"}, with({"ROLLCALL_LANDING_BYTES=4Mi"}));
}

// Through node memory, and by messages that land or wait.
TEST(EarlyMemory, OfManyWhoBringLongBlocksIsWithinTheBudgets) {
    const bool is_slow = kSlower > 1;
    expect_success(is_slow ? 6 : 64, {is_slow ? "many_wait_for_a_root:1024:3:128" : "many_wait_for_a_root:8192:3:128"});
    expect_success(is_slow ? 4 : 16, {is_slow ? "many_wait_for_a_root:1024:3:16" : "many_wait_for_a_root:8192:3:16"},
                   with({"ROLLCALL_NODE_MEMORY=no", "ROLLCALL_LANDING_BYTES=16Mi"}));
}

}  // namespace
}  // namespace rollcall::test
