/// \file
/// Sends and receives between real processes. ranks/point_to_point.cpp says what each scenario checks.
#include <fstream>

#include <fmt/format.h>

#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

const Words kPointToPoint = {"sizes", "typed", "order:300:1", "requests", "receive_deadline", "truncation"};

const Words kRequests = {"wait_in_parts",      "cancelled_requests", "own_deadlines",        "next_sizes",
                         "next_sizes:3:looks", "resized_by_threads", "resized_or_taken_back"};

Words queues() {
    return {"many_in_a_queue:" + std::to_string(20 / kSlower) + ":" + std::to_string(seed() % 1'000'000), "queue_order", "queue_failures",
            "queue_destroyed", "queue_threads:" + std::to_string(200 / kSlower)};
}

Words next_messages() {
    return {fmt::format("serves_whoever_comes:{}:{}", 20 / kSlower, a_seed()), "starts_next_sizes", "gives_up_next_sizes",
            fmt::format("next_sizes_by_threads:{}", 60 / kSlower)};
}

class PointToPoint : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, PointToPoint, testing::ValuesIn(rank_counts()), testing::PrintToStringParamName());

TEST_P(PointToPoint, Everything) { expect_success(GetParam(), kPointToPoint); }
TEST_P(PointToPoint, RequestsAndSizes) { expect_success(GetParam(), kRequests); }
TEST_P(PointToPoint, RequestsAndSizesWithHostDrivenProgress) {
    expect_success(GetParam(), kRequests, {.environment = {"ROLLCALL_PROGRESS=host"}, .launcher = {}});
}
TEST_P(PointToPoint, CompletionQueues) { expect_success(GetParam(), queues()); }
TEST_P(PointToPoint, CompletionQueuesWithHostDrivenProgress) {
    expect_success(GetParam(), queues(), {.environment = {"ROLLCALL_PROGRESS=host"}, .launcher = {}});
}
TEST_P(PointToPoint, FromWhicheverRank) { expect_success(GetParam(), next_messages()); }
TEST_P(PointToPoint, FromWhicheverRankWithHostDrivenProgress) {
    expect_success(GetParam(), next_messages(), with({"ROLLCALL_PROGRESS=host"}));
}
TEST_P(PointToPoint, FromWhicheverRankSleepingAtOnce) { expect_success(GetParam(), next_messages(), with({"ROLLCALL_SPIN=0"})); }
TEST_P(PointToPoint, CompletionQueuesSleepingAtOnce) {
    expect_success(GetParam(), queues(), {.environment = {"ROLLCALL_SPIN=0"}, .launcher = {}});
}
TEST_P(PointToPoint, WithHostDrivenProgress) {
    expect_success(GetParam(), {"sizes", "order:100:2", "requests", "many:500"},
                   {.environment = {"ROLLCALL_PROGRESS=host"}, .launcher = {}});
}
TEST_P(PointToPoint, SleepingAtOnce) {
    expect_success(GetParam(), {"order:100:3", "requests", "typed"}, {.environment = {"ROLLCALL_SPIN=0"}, .launcher = {}});
}

TEST(Messages, WithoutLanding) {
    // In these scenarios each rank sends to itself or in a ring, and keeps its receives posted or starts its sends.
    expect_success(3, {"no_landing", "sizes", "requests", "truncation", "send_deadline", "receive_deadline"},
                   {.environment = {"ROLLCALL_LANDING_BYTES=0"}, .launcher = {}});
}
// The setting also bounds the start and the end of the job. So it leaves a busy machine some time.
TEST(Messages, DefaultTimeouts) { expect_success(2, {"default_timeouts"}, {.environment = {"ROLLCALL_TIMEOUT=2s"}, .launcher = {}}); }
TEST(Messages, ForEverInSpiteOfTheSetting) {
    expect_success(2, {"for_ever_in_spite_of_the_setting"}, {.environment = {"ROLLCALL_TIMEOUT=2s"}, .launcher = {}});
}
// More messages wait at their sender than it may announce.
TEST(Messages, SizesOfWhatWaitsAtItsSender) {
    for (const char* landing : {"ROLLCALL_LANDING_BYTES=0", "ROLLCALL_LANDING_BYTES=20000"})
        expect_success(2, {"next_sizes:150", "next_sizes:150:looks", "resized_by_threads", "resized_or_taken_back"},
                       {.environment = {landing}, .launcher = {}});
}
TEST(Messages, FromWhicheverRankWhileTheyWaitAtTheirSenders) {
    for (const char* landing : {"ROLLCALL_LANDING_BYTES=0", "ROLLCALL_LANDING_BYTES=20000"})
        expect_success(3,
                       {fmt::format("serves_whoever_comes:{}:{}", 150 / kSlower, a_seed()), "starts_next_sizes", "next_sizes_by_threads"},
                       with({landing}));
}
TEST(Messages, FromWhicheverRankWithoutNodeMemory) {
    expect_success(3, next_messages(), with({"ROLLCALL_NODE_MEMORY=no"}));
    expect_success(3, next_messages(), with({"ROLLCALL_EAGER_BYTES=0"}));
}
TEST(Messages, NextSizeOfADeadSender) {
    for (const char* const progress : {"ROLLCALL_PROGRESS=thread", "ROLLCALL_PROGRESS=host"}) {
        const Ended ended = run_ranks(3, {"next_size_of_the_dead"}, with({progress}));
        EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
        for (const char* rank : {"rank 0 done", "rank 2 done"})
            EXPECT_EQ(lines_with(ended.out, rank).size(), 1u) << ended.out << ended.error;
    }
}
TEST(Messages, SizeOfADeadSender) {
    const Ended ended = run_ranks(2, {"size_of_the_dead"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
    EXPECT_EQ(lines_with(ended.out, "rank 0 done").size(), 1u) << ended.out << ended.error;
}
TEST(Messages, CompletionQueuesForEverInSpiteOfTheSetting) {
    expect_success(2, {"queue_for_ever"}, {.environment = {"ROLLCALL_TIMEOUT=2s"}, .launcher = {}});
}
TEST(Messages, CompletionQueueOfADeadSender) {
    const Ended ended = run_ranks(3, {"queue_of_the_dead"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
    for (const char* rank : {"rank 0 done", "rank 2 done"}) EXPECT_EQ(lines_with(ended.out, rank).size(), 1u) << ended.out << ended.error;
}
TEST(Messages, WithoutEagerMessages) {
    expect_success(3, {"sizes", "order:100:4", "truncation"}, {.environment = {"ROLLCALL_EAGER_BYTES=0"}, .launcher = {}});
}
TEST(Messages, WithLongEagerMessages) {
    expect_success(3, {"sizes", "order:100:5", "truncation"}, {.environment = {"ROLLCALL_EAGER_BYTES=1Mi"}, .launcher = {}});
}
TEST(Messages, WithATinyBudget) {
    expect_success(3, {"sizes", "order:200:6", "truncation", "many:2000"},
                   {.environment = {"ROLLCALL_LANDING_BYTES=20000"}, .launcher = {}});
}
TEST(Messages, OrderForManySeeds) {
    const std::uint64_t first = seed() % 1'000'000;
    Words scenarios;
    for (std::uint64_t i = 0; i < 10 / kSlower + 1; ++i) scenarios.push_back("order:200:" + std::to_string(first + i));
    expect_success(2, scenarios);
}
TEST(Messages, ManyOutstanding) { expect_success(2, {"many:" + std::to_string(10'000 / kSlower)}); }
// A rank has mailboxes for 32 others (runtime/node/mail.hpp).
TEST(Messages, FromMoreRanksThanThereAreMailboxes) { expect_success(kSanitized ? 5 : 34, {"all_to_one"}); }
TEST(Messages, LandEarlyWhileTheReceiverComputes) { expect_success(2, {"early_large:" + std::to_string(20 / kSlower)}); }
TEST(Messages, LandEarlyInParkedReceivers) {
    expect_success(2, {"early_large:10"}, {.environment = {"ROLLCALL_PROGRESS_QUIET=0", "ROLLCALL_PROGRESS_TICK=10us"}, .launcher = {}});
}
TEST(Messages, LandWhenThereIsRoom) {
    expect_success(2, {"deferred_landing"}, {.environment = {"ROLLCALL_LANDING_BYTES=1Mi"}, .launcher = {}});
}

// The receivers make no calls, and have no background threads. Through shared memory with and without single copy, and over TCP.
class KeptSends : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Over, KeptSends,
                         testing::Values("ROLLCALL_SINGLE_COPY=always", "ROLLCALL_SINGLE_COPY=no", "UCX_TLS=tcp", "ROLLCALL_TRANSPORT=ofi"),
                         [](const auto& tested) { return std::to_string(tested.index); });
TEST_P(KeptSends, LetTheirCallersGo) {
    const JobOptions alone{.environment = {"ROLLCALL_PROGRESS=host", GetParam()}, .launcher = {}};
    expect_success(2, {"sends_and_goes", "sends_and_leaves"}, alone);
    // With background threads the messages land meanwhile, or are copied, as it comes.
    expect_success(3, {"sizes", "order:200:7", "sends_and_leaves"}, {.environment = {GetParam()}, .launcher = {}});
}
TEST_P(KeptSends, ADeathIsToldToTheOther) {
    for (const std::string who : {"sender", "receiver"}) {
        const Ended ended = run_ranks(2, {"dies_with_messages:" + who},
                                      {.environment = {"ROLLCALL_PROGRESS=host", GetParam()}, .launcher = {"--grace", "60s"}});
        EXPECT_EQ(ended.code, 128 + SIGKILL) << ended.out << ended.error;
        EXPECT_EQ(lines_with(ended.out, who == "sender" ? "rank 1 done" : "rank 0 done").size(), 1u) << ended.out << ended.error;
    }
}

// 160 MB that no receive waits for, with a budget of 16 MiB; then messages without data.
TEST(Messages, FloodsAreHeldAtTheirSender) {
    const std::string messages = std::to_string(20'000 / kSlower);
    expect_success(2, {"flood:8000:" + messages + ":64"}, {.environment = {"ROLLCALL_LANDING_BYTES=16Mi"}, .launcher = {}});
    expect_success(2, {"flood:0:" + messages + ":64"}, {.environment = {"ROLLCALL_LANDING_BYTES=16Mi"}, .launcher = {}});
    expect_success(2, {"flood:100:" + messages + ":64"}, {.environment = {"ROLLCALL_LANDING_BYTES=1Mi"}, .launcher = {}});
}

TEST(Messages, OfADestroyedCommunicatorAreLetGo) {
    for (const int ranks : {1, 2, 5})
        expect_success(ranks, {"unreceived:" + std::to_string(30 / kSlower)},
                       {.environment = {"ROLLCALL_LANDING_BYTES=1Mi"}, .launcher = {}});
}

TEST(Messages, MoreThanTwoGibibytes) {
    if (kSlower > 1) GTEST_SKIP() << "the sanitizers' shadow of 2 GiB twice does not fit everywhere";
    std::ifstream file("/proc/meminfo");
    std::uint64_t available = 0;
    for (std::string word; file >> word;)
        if (word == "MemAvailable:") file >> available;
    if (available < 8u << 20) GTEST_SKIP() << "less than 8 GiB of memory are available";
    expect_success(2, {"huge"}, {.environment = {"ROLLCALL_LANDING_BYTES=64Mi"}, .launcher = {}});
}

TEST(Messages, FromFourThreads) {
    const std::string rounds = std::to_string(200 / kSlower);
    expect_success(2, {"threads_point_to_point:4:" + rounds});
    expect_success(3, {"threads_point_to_point:3:" + rounds}, {.environment = {"ROLLCALL_PROGRESS=host"}, .launcher = {}});
    expect_success(2, {"threads_point_to_point:4:" + rounds}, {.environment = {"ROLLCALL_SPIN=0"}, .launcher = {}});
}

}  // namespace
}  // namespace rollcall::test
