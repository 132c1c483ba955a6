/// \file
/// Broadcasts, barriers and communicators between real processes. The scenarios are in ranks/collectives.cpp.
#include "tests/process/algorithms.hpp"

namespace rollcall::test {
namespace {

std::string times(int count) { return std::to_string(std::max(1, count / kSlower)); }

class Collectives : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, testing::ValuesIn(rank_counts()), testing::PrintToStringParamName());

TEST_P(Collectives, BackToBack) {
    const std::string seed_word = a_seed();
    expect_success(GetParam(), {"describes_itself", "storm:" + times(400) + ":" + seed_word, "barriers:" + times(200), "started",
                                "many_started", "storm:" + times(100) + ":" + seed_word + ":2000"});
}
TEST_P(Collectives, Communicators) {
    expect_success(GetParam(), {"splits", "created", "hosts:1", "separation", "recreate:" + times(200), "many_communicators:10"});
}
// By messages, because through node memory nothing begins without its caller.
TEST_P(Collectives, BeginEarlyOnTenCommunicatorsThatComeAndGo) {
    expect_success(GetParam(), {fmt::format("parts_on_many_communicators:{}:{}", kSlower > 1 ? 1 : 4, a_seed())},
                   with({"ROLLCALL_NODE_MEMORY=no"}));
}
TEST_P(Collectives, FromFourThreads) { expect_success(GetParam(), {"threads:4:" + times(60)}); }
TEST_P(Collectives, WithHostDrivenProgress) {
    expect_success(GetParam(),
                   {"calls:broadcast:arrival_nonblocking", "storm:100:1", "barriers:40", "started", "splits", "recreate:20", "threads:3:20",
                    "event_loop:50"},
                   with({"ROLLCALL_PROGRESS=host"}));
}
TEST_P(Collectives, AreWokenByNotices) {
    expect_success(GetParam(),
                   {"wakes:arrival_blocking:" + times(400) + ":200", "wakes:arrival_nonblocking:" + times(100) + ":500", "barriers:100"},
                   with({"ROLLCALL_SPIN=0"}));
}

class Barriers : public testing::TestWithParam<std::string> {
  protected:
    static JobOptions with_it(Words more = {}) {
        more.push_back("ROLLCALL_BARRIER=" + GetParam());
        return with(std::move(more));
    }
};
INSTANTIATE_TEST_SUITE_P(Algorithms, Barriers, testing::ValuesIn(algorithms(runtime::OperationKind::barrier)),
                         [](const auto& tested) { return tested.param; });

TEST_P(Barriers, HoldEverybodyAndPublishWhatWasWritten) {
    for (const int ranks : kSanitized ? rank_counts() : std::vector<int>{1, 3, 8})
        expect_success(ranks, {"barriers:" + times(60), "barriers_publish:" + times(60), "started", "splits"}, with_it());
}
TEST_P(Barriers, AmongEverythingElse) {
    expect_success(4, {"soak:" + a_seed() + ":300", "recreate:" + times(50)}, with_it());
    expect_success(3, {"many_communicators:10", "barriers:20"}, with_it({"ROLLCALL_BOARD_SLOTS=5"}));
}
TEST_P(Barriers, WakeSleepers) {
    expect_success(3, {"barriers:" + times(60), "barriers_publish:" + times(60), "threads:3:" + times(20)}, with_it({"ROLLCALL_SPIN=0"}));
}
TEST_P(Barriers, WithHostDrivenProgress) {
    expect_success(3, {"barriers:40", "barriers_publish:40", "started", "many_started", "event_loop:20"},
                   with_it({"ROLLCALL_PROGRESS=host"}));
}

TEST(Progress, ParkedRootsServeThoseWhoArrive) {
    Words scenarios;
    for (const char* algorithm : {"arrival_blocking", "arrival_nonblocking", "linear"})
        scenarios.push_back(std::string("parked_root:") + algorithm + ":" + times(100));
    expect_success(3, scenarios, with({"ROLLCALL_PROGRESS_QUIET=0", "ROLLCALL_PROGRESS_TICK=20us"}));
    expect_success(2, {"parked_root:arrival_blocking:" + times(100)});
}
TEST(Progress, SleepersAreWokenAgainAndAgain) {
    expect_success(3, {"wakes:arrival_blocking:" + times(1500) + ":100"}, with({"ROLLCALL_SPIN=0"}));
    expect_success(4, {"wakes:arrival_blocking:" + times(1000) + ":200"},
                   with({"ROLLCALL_SPIN=20us", "ROLLCALL_PROGRESS_QUIET=0", "ROLLCALL_PROGRESS_TICK=20us"}));
    expect_success(3, {"wakes:arrival_blocking:" + times(500) + ":100"}, with({"ROLLCALL_SPIN=0", "ROLLCALL_PROGRESS=host"}));
}
TEST(Progress, ThreadsThatSleep) { expect_success(3, {"threads:4:" + times(60)}, with({"ROLLCALL_SPIN=0", "ROLLCALL_PROGRESS_QUIET=0"})); }
TEST(Progress, InAnEventLoop) { expect_success(3, {"event_loop:" + times(200)}, with({"ROLLCALL_PROGRESS=host"})); }
TEST(Progress, WithoutABackgroundThreadACallerStaysUntilItsDataHasLeft) {
    for (const int ranks : {2, 4})
        expect_success(ranks, {"stays_until_its_data_has_left"}, with({"ROLLCALL_PROGRESS=host", "ROLLCALL_NODE_MEMORY=no"}));
}
TEST(Progress, SleepsWhileNothingHappens) {
    expect_success(3, {"idle:300"});
    expect_success(2, {"storm:30", "idle:300"}, with({"ROLLCALL_PROGRESS_QUIET=0", "ROLLCALL_PROGRESS_TICK=5ms"}));
}
TEST(Progress, SleepsSoonAfterAPartWithoutItsCaller) {
    expect_success(2, {"sleeps_after_a_part"},
                   with({"ROLLCALL_NODE_MEMORY=no", "ROLLCALL_PROGRESS_QUIET=1000s", "ROLLCALL_PROGRESS_TICK=1ms"}));
}
TEST(Progress, CopiesForCallersThatComeInTheMiddle) {
    for (const char* const progress : {"ROLLCALL_PROGRESS=thread", "ROLLCALL_PROGRESS=host"})
        expect_success(3, {"comes_in_the_middle:" + times(20)}, with({"ROLLCALL_NODE_MEMORY=no", progress}));
}
TEST(Progress, CanBePaused) { expect_success(2, {"pause"}); }

TEST(Communicators, MoreThanSlots) {
    expect_success(3, {"many_communicators:20", "recreate:50", "splits"}, with({"ROLLCALL_BOARD_SLOTS=5"}));
}
TEST(Communicators, NoticesByMessageWakeSleepers) {
    expect_success(3, {"many_communicators:20"}, with({"ROLLCALL_BOARD_SLOTS=5", "ROLLCALL_SPIN=0"}));
}
TEST(Communicators, NoticesThatAreOverwrittenByLateOnesAreToldOf) {
    const Words scenarios = {"late_notice:gather:online_linear", "late_notice:broadcast:arrival_blocking"};
    expect_success(3, scenarios);
    expect_success(3, scenarios, with({"ROLLCALL_SPIN=0", "ROLLCALL_PROGRESS_QUIET=0", "ROLLCALL_PROGRESS_TICK=20us"}));
}
TEST(Communicators, LeaveNothingUnreadInTheWayOfOthers) {
    for (const int ranks : {2, 3}) expect_success(ranks, {"unread_broadcasts"});
    expect_success(3, {"late_reader_of_a_destroyed_communicator"});
    expect_success(4, {"publication_after_a_communicator"}, with({"ROLLCALL_NODE_RANKS=3"}));
}
TEST(Communicators, OutliveTheirJobWithoutHarm) { expect_success(2, {"after_the_end"}); }

TEST(Settings, ChooseTheAlgorithm) {
    for (const std::string& algorithm : algorithms(runtime::OperationKind::broadcast))
        expect_success(3, {"mixed_defaults"}, with({"ROLLCALL_BROADCAST=" + algorithm, "ROLLCALL_SEGMENT_BYTES=1000"}));
}
TEST(Settings, ZeroLandingIsTheBlockingModel) {
    for (const char* budget : {"ROLLCALL_LANDING_BYTES=0", "ROLLCALL_LANDING_BYTES=30000"}) {
        expect_success(3, {"storm:200:9:500", "started", "splits"}, with({budget}));
        const std::string shorter = fmt::format(":{}:256:few", a_seed());
        expect_success(3, for_all_algorithms("calls", shorter, kByMessages), with({budget}));
    }
}

// A second here, and one over tcp. RandomPrograms are longer, with the same configurations and other calls.
TEST(Soak, ARandomProgram) {
    const std::uint64_t first = seed();
    const auto part = [&](int ranks, std::uint64_t add, const Words& environment) {
        expect_success(ranks, {"soak:" + std::to_string(first + add) + ":250"}, with(environment));
    };
    part(2, 0, {});
    part(3, 1, {"ROLLCALL_SPIN=0"});
    part(5, 2, {"ROLLCALL_LANDING_BYTES=500000"});
    part(8, 3, {});
}

}  // namespace
}  // namespace rollcall::test
