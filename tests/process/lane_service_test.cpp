/// \file
/// Progress: a rank serves its peers whatever its own calls are, and an event loop is woken for everything. ranks/lane_service.cpp says
/// what each scenario checks.
#include <fmt/format.h>

#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

class Service : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(BesideCalls, Service, testing::Values("receive", "send", "broadcast"),
                         [](const auto& tested) { return tested.param; });

TEST_P(Service, IsGivenThoughAllCallsEndAtOnce) {
    // The tick is long. Without a poll in the calls, the peers would not be served between two ticks.
    for (const int ranks : {3, 4}) expect_success(ranks, {"served_beside_calls:" + GetParam()}, with({"ROLLCALL_PROGRESS_TICK=20ms"}));
}

TEST(EventLoop, HearsOfMismatches) {
    for (const int ranks : {2, 3})
        expect_success(ranks, {"loop_hears_of_mismatches"}, with({"ROLLCALL_PROGRESS=host", "ROLLCALL_MISMATCH_PROBE=20ms"}));
}

TEST(EventLoop, HearsOfItsMessages) {
    for (const char* const progress : {"ROLLCALL_PROGRESS=host", "ROLLCALL_PROGRESS=thread"})
        for (const int ranks : {1, 3}) expect_success(ranks, {"loop_hears_of_its_messages"}, with({progress}));
}

// Each message would take some ticks if the background thread waited for silence while the loop sleeps.
TEST(EventLoop, IsServedAtOnceByTheBackgroundThread) {
    for (const char* const transport : {"UCX_TLS=posix,self", "UCX_TLS=tcp,self"})
        expect_success(3, {"loop_hears_of_its_messages:20"},
                       with({transport, "ROLLCALL_PROGRESS_TICK=20s", "ROLLCALL_PROGRESS_QUIET=40s"}));
}

TEST(EventLoop, LooksForMessages) {
    for (const std::string progress : {"host", "thread"})
        for (const int ranks : {1, 3})
            expect_success(ranks, {"looks_in_an_event_loop:20:" + progress}, with({"ROLLCALL_PROGRESS=" + progress}));
}

TEST(EventLoop, IsWokenByMessagesOfAnySize) {
    for (const std::string progress : {"host", "thread"})
        for (const int ranks : {1, 3}) expect_success(ranks, {"next_sizes_in_an_event_loop:20"}, with({"ROLLCALL_PROGRESS=" + progress}));
}

TEST(EventLoop, SleepsBesideAnotherThreadsCall) {
    for (const char* const progress : {"ROLLCALL_PROGRESS=host", "ROLLCALL_PROGRESS=thread"})
        expect_success(2, {"loop_beside_a_call"}, with({progress}));
}

TEST(EventLoop, HearsOfWhatAnotherThreadStarts) {
    for (const char* const what : {"barrier", "broadcast"})
        expect_success(2, {fmt::format("loop_beside_a_start:{}", what)}, with({"ROLLCALL_PROGRESS=host"}));
}

TEST(EventLoop, HearsOfWhatAnotherThreadPutsIntoAQueue) {
    for (const char* const progress : {"ROLLCALL_PROGRESS=host", "ROLLCALL_PROGRESS=thread"})
        expect_success(2, {"loop_beside_an_add"}, with({progress}));
}

TEST(Communicators, ThatWentLongAgoAreAnsweredFor) {
    Words scenarios;
    for (const int between : {0, 255, 300, 600}) scenarios.push_back(fmt::format("gone_long_ago:{}", between / kSlower));
    expect_success(3, scenarios, with({"ROLLCALL_MISMATCH_PROBE=20ms"}));
}

}  // namespace
}  // namespace rollcall::test
