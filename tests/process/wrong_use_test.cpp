/// \file
/// Wrong uses of the interface. The rank that makes the mistake is told in a sentence, and no other rank notices. ranks/wrong_use.cpp says
/// what each scenario checks.
#include <csignal>

#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

JobOptions within(std::string limit, Words environment = {}) {
    JobOptions options;
    options.environment = std::move(environment);
    options.limit = std::move(limit);
    return options;
}

TEST(WrongUse, DeadlinesBelowZeroAreRefused) {
    for (const int ranks : {1, 3}) expect_success(ranks, {"negative_timeouts"});
}

TEST(WrongUse, NearlyForEverIsForEver) {
    for (const int ranks : {1, 2}) expect_success(ranks, {"nearly_for_ever"});
}

TEST(WrongUse, TheDeadlineOfWaitAllIsOneForAll) {
    for (const int ranks : {2, 3}) expect_success(ranks, {"one_deadline_for_all"});
}

TEST(WrongUse, AForkedChildIsNoRank) {
    for (const int ranks : {1, 3}) expect_success(ranks, {"forked_child"});
    expect_success(2, {"forked_child"}, with({"ROLLCALL_PROGRESS=host"}));
}

TEST(Job, IsSharedByThePartsOfAProgram) {
    for (const int ranks : {1, 2}) expect_success(ranks, {"second_job"});
}

#ifdef ROLLCALL_TEST_LIBRARY
TEST(Job, OfASecondCopyOfTheLibraryIsRefused) { expect_success(2, {"second_copy:" ROLLCALL_TEST_LIBRARY}); }
#endif

TEST(WrongUse, WaitAnyRefusesRequestsOfDifferentJobs) { expect_success(1, {"wait_any_of_two_jobs"}); }

TEST(Job, IsSharedAlsoIfItIsEmbedded) { expect_success(1, {"shares_embedded_jobs"}); }
TEST(Job, MayBeOneOfTwoThatAreRanksInOneProcess) { expect_success(1, {"ranks_of_one_process"}); }

TEST(Job, OfAStaticObjectEndsInGoodOrder) {
    const Ended ended = run_ranks(1, {"static_job:finalizes"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
    EXPECT_TRUE(has(ended.out, "the static job has ended")) << ended.out << ended.error;
    EXPECT_FALSE(has(ended.out, "the static job:")) << ended.out << ended.error;
}

TEST(Job, OfAStaticObjectLogsWhatFailsAtItsEnd) {
    const Ended ended = run_ranks(1, {"static_job:leaves"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
    EXPECT_TRUE(has(ended.out, "the static job has ended")) << ended.out << ended.error;
    EXPECT_TRUE(has(ended.error, "still under way")) << ended.out << ended.error;
}

TEST(NoMemory, ForACommunicatorIsToldToAllRanks) {
    for (const char* const call : {"create", "split", "duplicate", "intercommunicator"})
        expect_success(3, {fmt::format("no_memory_for_a_communicator:{}:{}", call, 40)}, with({"ROLLCALL_TIMEOUT=20s"}));
}

TEST(NoMemory, AtTheEndKeepsNoOtherRankWaiting) {
    for (int allocation = 0; allocation < 12; ++allocation)
        expect_success(3, {fmt::format("no_memory_at_the_end:{}", allocation)}, with({"ROLLCALL_TIMEOUT=20s"}));
}

TEST(Job, OfAPartIsNamedIfOneRankHasNone) {
    expect_success(2, {"a_part_of_one_rank"});
}

TEST(WrongUse, CrossedRootsAreTold) {
    for (const int ranks : {2, 4})
        expect_success(ranks,
                       {"crossed_roots:auto:broadcast", "crossed_roots:linear:broadcast", "crossed_roots:binomial:broadcast",
                        "crossed_roots:linear:scatter", "crossed_roots:linear:gather"},
                       within("30s", {"ROLLCALL_MISMATCH_PROBE=20ms"}));
}

TEST(WrongUse, CrossedRootsOfTheLastCallAreToldAtTheEnd) {
    for (const int ranks : {2, 4})
        expect_success(ranks, {"crossed_roots:linear:broadcast:end"}, within("30s", {"ROLLCALL_MISMATCH_PROBE=20ms"}));
}

TEST(WrongUse, AnAbortIsAFailureWhateverItsCode) {
    for (const auto& [code, expected] :
         std::vector<std::pair<std::string, int>>{{"1", 1}, {"255", 255}, {"0", 255}, {"256", 255}, {"300", 255}, {"-1", 255}}) {
        const Ended ended = run_ranks(2, {"aborts_with:" + code});
        EXPECT_EQ(ended.code, expected) << "code " << code << "\n" << ended.out << ended.error;
        EXPECT_TRUE(has(ended.error, "enough"));
    }
    const Ended without_a_job = run_ranks(2, {"aborts_with:512:c"});
    EXPECT_EQ(without_a_job.code, 255);
    EXPECT_TRUE(has(without_a_job.error, "this process ends with code 255: enough")) << without_a_job.error;
}

TEST(WrongUse, AJobThatIsEndedIsTheSubjectOfItsSentence) {
    const Ended ended = run_ranks(3, {"interrupts_its_launcher"}, {.environment = {}, .launcher = {"--grace", "60s"}});
    EXPECT_EQ(ended.code, 128 + SIGINT) << ended.out << ended.error;
    const Words told = lines_with(ended.out, " told: ");
    EXPECT_EQ(told.size(), 3u) << ended.out << ended.error;
    for (const std::string& line : told) EXPECT_TRUE(has(line, "the job is being ended"));
}

}  // namespace
}  // namespace rollcall::test
