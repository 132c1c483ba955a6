/// \file
/// The cost of early messages for their receiver: the budget holds, whatever arrives. ranks/memory.cpp says what each scenario checks. And
/// memory that programs take from the runtime (ranks/taken_memory.cpp).
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

// Otherwise ranks that have a core each copy most data twice.
constexpr const char* kSingleCopy = "ROLLCALL_SINGLE_COPY=always";

TEST(EarlyMemory, IsWithinTheBudgetWithWhatIsKept) {
    expect_success(2, {"landing_of_many_sizes:32"}, with({"ROLLCALL_LANDING_BYTES=32Mi"}));
}

// Offered messages wait at their senders. The receiver keeps a few hundred bytes for each.
TEST(EarlyMemory, OfOfferedMessagesIsSmall) {
    expect_success(2, {"cost_of_early_messages:5000:16384:500:1048576"}, with({"ROLLCALL_LANDING_BYTES=1Mi"}));
    expect_success(3, {"cost_of_early_messages:5000:16384:500:1048576"}, with({"ROLLCALL_LANDING_BYTES=1Mi"}));
}

TEST(EarlyMemory, OfSmallMessagesIsBounded) {
    expect_success(2, {"cost_of_early_messages:20000:8:500:2097152"}, with({"ROLLCALL_LANDING_BYTES=2Mi"}));
    expect_success(2, {"cost_of_early_messages:20000:0:500:2097152"}, with({"ROLLCALL_LANDING_BYTES=2Mi"}));
}

// Through node memory, by messages that land or wait, and by plain sends. (Sixteen calls of 40 ranks move 2.5 GiB.)
void expect_within_budgets(const std::string& how, const std::string& node_memory) {
    const bool is_slow = kSlower > 1;
    const std::string scenario = fmt::format("many_wait_for_a_root:{}:{}", is_slow ? "512:16:4" : "4096:16:16", how);
    const Ended ended =
        run_ranks(is_slow ? 6 : 40, {scenario},
                  with({"ROLLCALL_NODE_MEMORY=" + node_memory, is_slow ? "ROLLCALL_LANDING_BYTES=4Mi" : "ROLLCALL_LANDING_BYTES=16Mi"}));
    EXPECT_EQ(ended.code, 0) << scenario << "\n" << ended.out << ended.error;
}
TEST(EarlyMemory, OfManyWhoPublishLongBlocksIsWithinTheBudgets) { expect_within_budgets("gather", "auto"); }
TEST(EarlyMemory, OfManyWhoSendLongBlocksIsWithinTheBudgets) { expect_within_budgets("gather", "no"); }
TEST(EarlyMemory, OfManyPlainSendersIsWithinTheBudgets) { expect_within_budgets("send", "auto"); }

TEST(NodeMemory, IsPublishedInTheOrderOfCalls) {
    for (const int ranks : {2, 5}) expect_success(ranks, {"started_gathers_publish_in_order"}, with({"ROLLCALL_PROGRESS=host"}));
}

std::string any_seed() { return ":" + std::to_string(seed() % 1'000'000); }

TEST(TakenMemory, IsReadForAsLongAsTheCall) {
    for (const int ranks : rank_counts()) expect_success(ranks, {"taken_memory" + any_seed()});
    expect_success(4, {"taken_memory" + any_seed()}, with({"ROLLCALL_NODE_MEMORY=no"}));
    expect_success(4, {"taken_memory" + any_seed()}, with({"ROLLCALL_LANDING_BYTES=0"}));
    expect_success(4, {"taken_memory" + any_seed()}, with({"ROLLCALL_LANDING_BYTES=1Mi"}));
    for (const auto& [ranks, of_node] : {std::pair(4, "ROLLCALL_NODE_RANKS=2"), std::pair(5, "ROLLCALL_NODE_RANKS=3")})
        expect_success(ranks, {"taken_memory" + any_seed()}, with({of_node, "ROLLCALL_REDUCE=two_level"}));
}
TEST(TakenMemory, MayLiveLongerThanTheJob) {
    expect_success(3, {"memory_at_the_end"});
    expect_success(3, {"memory_at_the_end"}, with({"ROLLCALL_NODE_MEMORY=no"}));
}
// The limit (of 29 or 54 MiB, or twice as much where ulimit counts in KiB) is enough for the memory of the node, which is small here.
TEST(TakenMemory, AboveTheLimitOfFileSizesIsNotShared) {
    for (const auto& [ranks, limit] : {std::pair(2, 60'000), std::pair(4, 110'000)}) {
        const std::string limited = fmt::format("ulimit -f {} && exec \"$@\"", limit);
        const JobOptions options = {.environment = {"ROLLCALL_LANDING_BYTES=1Mi", "ROLLCALL_BOARD_SLOTS=64", "ROLLCALL_LOG=debug"},
                                    .launcher = {},
                                    .starter = {"sh", "-c", limited, "sh", ROLLCALL_TEST_COMMAND, "run", "-n", std::to_string(ranks)}};
        const Ended ended = run_ranks(ranks, {"taken_again_and_again:128", "taken_memory" + any_seed()}, options);
        EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
        EXPECT_EQ(count(ended.out, " done\n"), ranks) << ended.out << ended.error;
        EXPECT_EQ(count(ended.error, fmt::format("node memory: shared by {} ranks", ranks)), ranks) << ended.error;
    }
}
void expect_survivors(int ranks, const std::string& scenario, const Words& environment = {}) {
    const Ended ended = run_ranks(ranks, {scenario}, {.environment = environment, .launcher = {"--grace", "60s"}, .starter = {}});
    EXPECT_EQ(ended.code, 128 + SIGKILL) << ended.out << ended.error;
    EXPECT_EQ(static_cast<int>(lines_with(ended.out, " went on").size()), ranks - 1) << ended.out << ended.error;
}
TEST(TakenMemory, OfLivingRanksStaysGoodWhenAReaderDies) {
    for (const int ranks : {2, 4}) expect_survivors(ranks, "death_while_memory_is_read");
    expect_survivors(5, "death_while_memory_is_read", {"ROLLCALL_NODE_RANKS=3"});
}

TEST(PrivateMemory, OfARankThatDiedIsNotWaitedFor) {
    for (const int ranks : {2, 4}) expect_survivors(ranks, "death_of_a_rank_whose_memory_is_read", {kSingleCopy});
    expect_survivors(4, "death_of_a_rank_whose_memory_is_read", {"ROLLCALL_SINGLE_COPY=no"});
    expect_survivors(2, "death_of_a_rank_whose_memory_is_read:allreduce", {kSingleCopy});
}
TEST(PrivateMemory, IsCombinedForTwo) {
    for (const int ranks : {2, 3}) expect_success(ranks, {"long_sums" + any_seed()}, with({kSingleCopy}));
    for (const char* const setting : {"ROLLCALL_SINGLE_COPY=auto", "ROLLCALL_SINGLE_COPY=no", "ROLLCALL_LANDING_BYTES=0"})
        expect_success(2, {"long_sums" + any_seed() + ":12"}, with({setting}));
    for (const char* const of_node : {"ROLLCALL_NODE_RANKS=2", "ROLLCALL_NODE_RANKS=3"})
        expect_success(6, {"long_sums" + any_seed() + ":12"}, with({of_node}));
}
TEST(OfferedMemory, IsCopiedForRanksThatHaveNotCome) {
    for (const int ranks : rank_counts()) expect_success(ranks, {"blocks_that_are_offered" + any_seed()}, with({kSingleCopy}));
    expect_success(2, {"blocks_that_are_offered" + any_seed()});
    expect_success(4, {"blocks_that_are_offered" + any_seed()}, with({"ROLLCALL_SINGLE_COPY=no"}));
    expect_success(4, {"blocks_that_are_offered" + any_seed() + ":20:0"}, with({"ROLLCALL_LANDING_BYTES=1Mi"}));
}
TEST(PrivateMemory, IsTakenBackWhenACallIsGivenUp) {
    for (const int ranks : {2, 4}) expect_success(ranks, {"memory_that_is_read_is_taken_back"}, with({kSingleCopy}));
}

}  // namespace
}  // namespace rollcall::test
