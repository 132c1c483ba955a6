/// \file
/// The end of a job in the wrong state: operations are under way, or other ranks still call. ranks/finalize.cpp says what each scenario
/// checks.
#include <set>
#include <sstream>
#include <string>

#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

class UnderWay : public testing::TestWithParam<std::string> {};
// The error says what is under way, and how many collective operations and messages that is.
INSTANTIATE_TEST_SUITE_P(AtTheEnd, UnderWay,
                         testing::Values("send:0:1", "receive:0:1", "next_size:0:1", "barrier:1:0", "begun_plan:1:0", "started_plan:1:0",
                                         "thread:0:1", "all:1:4"),
                         [](const auto& tested) { return tested.param.substr(0, tested.param.find(':')); });

TEST_P(UnderWay, IsCountedAndNothingIsTornDown) {
    // Without landing, a send is under way until it is received.
    expect_success(2, {"finalize_refused:" + GetParam()}, with({"ROLLCALL_LANDING_BYTES=0"}));
    expect_success(3, {"finalize_refused:" + GetParam()}, with({"ROLLCALL_LANDING_BYTES=0", "ROLLCALL_PROGRESS=host"}));
}

TEST(AtTheEnd, WhatIsDestroyedHindersNobody) { expect_success(3, {"finalize_after_dropping"}, with({"ROLLCALL_LANDING_BYTES=0"})); }

TEST(AtTheEnd, ARequestThatOutlivesTheJobEndsIt) {
    for (const std::string what : {"send", "receive", "next_size", "barrier"}) {
        const Ended ended = run_ranks(2, {"leaves_a_request:" + what}, with({"ROLLCALL_LANDING_BYTES=0"}));
        // The first rank's finalize() throws, so its exit code is that of an error. Its process and that of the other rank end.
        EXPECT_EQ(ended.code, 5) << what << "\n" << ended.out << ended.error;
        EXPECT_TRUE(has(ended.out, "in finalize: error state")) << ended.error;
        EXPECT_TRUE(has(ended.out, "still under way")) << ended.error;
    }
}

TEST(AtTheEnd, ARankMayLeaveAsSoonAsItHasStarted) {
    // Several times, because the others must not be faster.
    for (int i = 0; i < 5; ++i) expect_success(8, {"leaves_at_once"});
}

TEST(AtTheEnd, ToWaitForWhatOutlivesTheJobSaysSo) {
    for (const std::string progress : {"ROLLCALL_PROGRESS=thread", "ROLLCALL_PROGRESS=host"}) {
        const Ended ended = run_ranks(2, {"waits_after_the_end"}, with({progress}));
        EXPECT_EQ(ended.code, 5) << ended.out << ended.error;
        EXPECT_TRUE(has(ended.out, "told 13 times")) << ended.out << ended.error;
        EXPECT_FALSE(has(ended.out, "says")) << ended.out << ended.error;
    }
}

TEST(AtTheEnd, ThreadsThatWaitAreWoken) {
    for (const std::string progress : {"ROLLCALL_PROGRESS=thread", "ROLLCALL_PROGRESS=host"})
        for (const std::string spin : {"ROLLCALL_SPIN=0", "ROLLCALL_SPIN=100us"}) {
            // Each setting with one of the other.
            if (kSanitized && progress.ends_with("host") != spin.ends_with("=0")) continue;
            for (const int ranks : {1, 3})
                expect_success(ranks,
                               {"waits_while_the_job_ends:finalizes", "waits_while_the_job_ends:leaves", "queues_wait_while_the_job_ends"},
                               with({progress, spin}));
        }
}

// By messages, because through node memory every call behaves like this.
const Words kMessages = {"ROLLCALL_NODE_MEMORY=no"};

TEST(Decoupled, WhatWasHandedOverArrives) {
    for (const std::string when : {"now", "later"})
        for (const int ranks : {2, 4}) {
            expect_success(ranks, {"hands_over:" + when}, with(kMessages));
            expect_success(ranks, {"hands_blocks_over:" + when}, with(kMessages));
        }
}

TEST(Decoupled, WhatFailsAfterItWasHandedOverIsTold) {
    Words environment = kMessages;
    environment.push_back("ROLLCALL_LANDING_BYTES=1600000");  // room for what the root hands over, and not for that and what fills it
    for (const std::string why : {"mismatch", "timeout"})
        for (const std::string told_by : {"call", "end", "dropped"}) {
            const Ended ended = run_ranks(3, {"hands_over_in_vain:" + why + ":" + told_by}, with(environment));
            EXPECT_EQ(ended.code, 0) << why << " " << told_by << "\n" << ended.out << ended.error;
            // A receiver that calls something else declines the data. If the sender hears that before it hears why, its send has ended, and
            // only the mismatch is told.
            EXPECT_TRUE(why == "mismatch" || has(ended.error, "data that a call had handed over was not delivered")) << ended.error;
        }
}

TEST(Decoupled, ALateRankPassesOnBeforeItCalls) {
    expect_success(4, {"begins_early:1"}, with(kMessages));
    expect_success(4, {"begins_early:20"}, with(kMessages));
}

TEST(Decoupled, ALateRankCollectsBeforeItCalls) {
    Words environment = kMessages;
    expect_success(4, {"collects_early:2", "collects_early:20"}, with(environment));
    expect_success(7, {"collects_early:6"}, with(environment));
    // With room for the data that rank 3 hands over (6 times 300,000 bytes) and few parts only, the others begin with their callers.
    environment.push_back("ROLLCALL_LANDING_BYTES=5Mi");
    expect_success(4, {"collects_early:6"}, with(environment));
}

class Leaving : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(WhileOthersCall, Leaving, testing::Values("barrier", "broadcast", "gather"),
                         [](const auto& tested) { return tested.param; });

TEST_P(Leaving, IsToldToThemByName) {
    for (const int ranks : {2, 4})
        expect_success(ranks, {"finalize_while_others_call:" + GetParam()}, with({"ROLLCALL_MISMATCH_PROBE=20ms"}));
}

// In a process of several jobs, a warning says which job it is about.
TEST(AtTheEnd, AWarningNamesTheJob) {
    const std::string begin = " warning: ";
    const Ended several = run_ranks(1, {"jobs_in_the_log"});
    EXPECT_EQ(several.code, 0) << several.error;
    std::set<std::string> names;
    std::istringstream text(several.error);
    for (std::string line; std::getline(text, line);) {
        const auto at = line.find(begin + "job ");
        if (at == std::string::npos || !has(line, "under way")) continue;
        line.erase(0, at + begin.size());
        names.insert(line.substr(0, line.find(':')));
    }
    EXPECT_EQ(names.size(), 2u) << several.error;
}

// The others wait until the root takes their blocks.
TEST(AtTheEnd, IsToldToThoseWhoSend) {
    for (const std::string decouple : {"auto", "no"})
        expect_success(
            3, {"finalize_while_others_call:long_gather"},
            with({"ROLLCALL_MISMATCH_PROBE=20ms", "ROLLCALL_LANDING_BYTES=0", "ROLLCALL_NODE_MEMORY=no", "ROLLCALL_DECOUPLE=" + decouple}));
}

}  // namespace
}  // namespace rollcall::test
