/// \file
/// Two running jobs become connected. The scenarios are in ranks/two_jobs.cpp and ranks/parts_that_connect.cpp.
#include <csignal>
#include <filesystem>
#include <future>

#include <fmt/format.h>
#include <unistd.h>

#include "tests/process/harness.hpp"
#include "tests/process/managers.hpp"

namespace rollcall::test {
namespace {

struct Two {
    Ended listens, connects;
};

/// Runs a job of the first part and one of the other part at the same time, with the same further words of the scenario.
Two run_two(int listening, int connecting, const std::string& scenario, const std::string& words = {}, const JobOptions& of_listening = {},
            const JobOptions& of_connecting = {}) {
    static int number = 0;
    const std::string path = fmt::format("{}/rollcall-invitation-{}-{}-", testing::TempDir(), ::getpid(), ++number);
    const auto run = [&](int ranks, const char* part, const JobOptions& options) {
        return run_ranks(ranks, {fmt::format("{}:{}:{}:{}", scenario, part, path, words)}, options);
    };
    auto listens = std::async(std::launch::async, [&] { return run(listening, "listens", of_listening); });
    const Ended connects = run(connecting, "connects", of_connecting);
    const Two both{listens.get(), connects};
    for (int i = 0; i < 2; ++i) std::filesystem::remove(path + std::to_string(i));
    return both;
}

void expect_good(const Two& both, int listening, int connecting) {
    for (const auto& [ended, ranks] : {std::pair(both.listens, listening), std::pair(both.connects, connecting)}) {
        EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
        EXPECT_EQ(count(ended.out, " done\n"), ranks) << ended.out << ended.error;
    }
}

TEST(TwoJobs, ExchangeAllData) {
    expect_good(run_two(2, 3, "two_jobs_exchange", a_seed()), 2, 3);
    if (kSanitized) return;
    expect_good(run_two(3, 1, "two_jobs_exchange", a_seed()), 3, 1);
    expect_good(run_two(1, 1, "two_jobs_exchange", a_seed()), 1, 1);
}

TEST(TwoJobs, ExchangeWithoutNodeMemoryAndWithHostDrivenProgress) {
    expect_good(run_two(2, 2, "two_jobs_exchange", a_seed(), with({"ROLLCALL_NODE_MEMORY=no"}), with({"ROLLCALL_PROGRESS=host"})), 2, 2);
}

/// The launcher waits for the ranks that a death has left.
JobOptions patient() { return {.environment = {}, .launcher = {"--grace", "60s"}}; }

void expect_death(int listening, int connecting, const std::string& part, const std::string& victim,
                  const JobOptions& of_listening = patient(), const JobOptions& of_connecting = patient()) {
    const Two both = run_two(listening, connecting, "two_jobs_death", part + ":" + victim, of_listening, of_connecting);
    const bool listens = part == "listens", all = victim == "all";
    const Ended &lost = listens ? both.listens : both.connects, &other = listens ? both.connects : both.listens;
    const int in_lost = listens ? listening : connecting, in_other = listens ? connecting : listening;
    SCOPED_TRACE(fmt::format("the job that lost a rank: {}{}the other one: {}{}", lost.out, lost.error, other.out, other.error));
    EXPECT_EQ(lost.code, 128 + SIGKILL);
    EXPECT_EQ(count(lost.out, "was told of the death"), all ? 0 : in_lost - 1);
    EXPECT_EQ(other.code, 0);
    EXPECT_EQ(count(other.out, "was told of the death"), in_other);
    EXPECT_EQ(count(other.out, " done\n"), in_other);
}

TEST(TwoJobs, TellAllOfADeathAndTheOtherJobGoesOn) {
    expect_death(2, 2, "connects", "1");
    expect_death(2, 3, "listens", "0");
    if (kSanitized) return;
    expect_death(3, 2, "listens", "1");
    expect_death(2, 2, "connects", "0");
}

TEST(TwoJobs, OneOfWhichDies) {
    expect_death(2, 2, "connects", "all");
    expect_death(2, 2, "listens", "all");
}

TEST(TwoJobs, EndInAnyOrder) {
    expect_good(run_two(2, 2, "two_jobs_end"), 2, 2);
    expect_good(run_two(2, 2, "two_jobs_end", "disconnects"), 2, 2);
}

TEST(TwoJobs, AreToldThatAnExceptionEndedTheConnection) {
    expect_good(run_two(2, 2, "two_jobs_unwind"), 2, 2);
    if (!kSanitized) expect_good(run_two(1, 3, "two_jobs_unwind"), 1, 3);
}

TEST(TwoJobs, AreToldAtTheEndThatDataWasLost) {
    expect_good(run_two(1, 1, "two_jobs_lose_data"), 1, 1);
    expect_good(run_two(1, 2, "two_jobs_lose_data", "", with({"ROLLCALL_NODE_MEMORY=no"})), 1, 2);
}

// The job that listens drives progress itself.
TEST(TwoJobs, HaveOneEventLoopForTheJobAndTheConnection) {
    expect_good(run_two(2, 2, "two_jobs_event_loop", "20", with({"ROLLCALL_PROGRESS=host"})), 2, 2);
    if (!kSanitized) expect_good(run_two(3, 3, "two_jobs_event_loop", "20", with({"ROLLCALL_PROGRESS=host", "ROLLCALL_SPIN=0"})), 3, 3);
}

TEST(TwoJobs, MoveTheDataOfAJobThatWaitsForTheOtherOne) {
    const JobOptions host = with({"ROLLCALL_PROGRESS=host"});
    expect_good(run_two(2, 1, "two_jobs_wait", "", host), 2, 1);
    expect_good(run_two(2, 2, "two_jobs_wait", "", with({"ROLLCALL_PROGRESS=host", "ROLLCALL_SPIN=0"}), host), 2, 2);
}

TEST(TwoJobs, AreToldHowTheyDiffer) {
    expect_good(run_two(2, 1, "two_jobs_that_differ", "ROLLCALL_ALLREDUCE=ring", with({}), with({"ROLLCALL_ALLREDUCE=ring"})), 2, 1);
}

TEST(TwoJobs, SayWhyTheyAreNotConnected) { expect_success(3, {"refused_connections"}); }

TEST(TwoJobs, AreToldOnAllRanksThatTheOtherOneWentAway) {
    for (const char* part : {"listens", "connects"})
        for (const char* then : {"leaves", "invites"}) expect_success(3, {fmt::format("left_after_the_meeting:{}:{}", part, then)});
}

/// A job by another starter than `rollcall run`: tests/process/foreign_starter.cpp, or a process manager.
JobOptions by(const std::string& starter, int ranks) {
    for (const Manager& manager : kManagers)
        if (manager.name == starter) return manager.starts(ranks);
    return {.environment = {}, .launcher = {}, .starter = {"timeout", "100", ROLLCALL_FOREIGN_STARTER, starter, std::to_string(ranks)}};
}

class TwoStarters : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        for (const Manager& manager : kManagers)
            if (manager.name == std::string(GetParam()) && !manager.is_installed()) GTEST_SKIP() << manager.why_skipped();
    }
};
INSTANTIATE_TEST_SUITE_P(Of, TwoStarters,
                         testing::Values("torchrun", "agent_store", "directory", "unique_id", "allgather", "hydra", "mpirun"),
                         [](const auto& starter) { return std::string(starter.param); });

TEST_P(TwoStarters, StartJobsThatConnect) {
    const std::string starter = GetParam(), few = a_seed() + ":few";
    expect_good(run_two(2, 2, "two_jobs_exchange", kSanitized ? few : a_seed(), {}, by(starter, 2)), 2, 2);
    if (kSanitized) return;
    expect_good(run_two(2, 1, "two_jobs_exchange", few, by(starter, 2)), 2, 1);
    expect_good(run_two(2, 3, "two_jobs_exchange", few, by(starter, 2), by(starter, 3)), 2, 3);
}

TEST(TwoJobs, OfDifferentStartersTellAllOfADeath) {
    expect_death(2, 2, "connects", "1", patient(), by("torchrun", 2));
    if (kSanitized) return;
    expect_death(2, 2, "listens", "1", patient(), by("torchrun", 2));
}

TEST(TwoJobs, ConnectAsOneWithAThirdOne) { expect_success(3, {"connection_over_a_connection"}); }

TEST(TwoJobs, ConnectWithAThirdOneAtTheSameTime) { expect_success(kSanitized ? 3 : 5, {"two_connects_at_once"}); }

}  // namespace
}  // namespace rollcall::test
