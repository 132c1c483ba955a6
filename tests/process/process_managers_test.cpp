/// \file
/// Jobs that the process managers of MPI libraries start: mpiexec.hydra by PMI-1, Open MPI's mpirun by PMIx. A test is skipped, with the
/// reason, if its manager is not installed.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <unistd.h>

#include "tests/process/harness.hpp"
#include "tests/process/managers.hpp"

namespace rollcall::test {
namespace {

class ProcessManagers : public testing::TestWithParam<Manager> {
  protected:
    void SetUp() override {
        if (!GetParam().is_installed()) GTEST_SKIP() << GetParam().why_skipped();
    }
    JobOptions by_it(int ranks, const Words& before = {}) const {
        JobOptions options = GetParam().starts(ranks);
        options.starter.insert(options.starter.end(), before.begin(), before.end());
        return options;
    }
    std::string whole(int ranks) const { return fmt::format("is_whole:{}:{}", ranks, ranks == 1 ? "alone" : GetParam().starter); }
};

INSTANTIATE_TEST_SUITE_P(Of, ProcessManagers, testing::ValuesIn(kManagers), [](const auto& manager) { return manager.param.name; });

TEST_P(ProcessManagers, StartJobsOfSeveralSizes) {
    for (const int ranks : {1, 2, 4, 8})
        expect_success(ranks, {whole(ranks), "storm:" + std::to_string(40 / kSlower) + ":1", "splits", "interleaved_plans"}, by_it(ranks));
}

// The manager may end the other ranks as soon as it sees the death. Ranks that live a moment longer see those die, too. So the manager
// determines which rank they name. No rank hangs. No rank handles the error: if the others ended with code 0 at the moment of a death,
// hydra (4.0) might end with code 0, too.
TEST_P(ProcessManagers, ARankThatIsKilledEndsTheJob) {
    const Ended ended = run_ranks(4, {"killed:2"}, by_it(4));
    EXPECT_NE(ended.code, 0) << ended.out << ended.error;
    // The manager says how the rank ended, or another rank says which one it was.
    const std::string said = ended.out + ended.error;
    EXPECT_TRUE(said.find("signal 9") != said.npos || said.find("error peer_failed 2") != said.npos) << ended.code << said;
    EXPECT_LT(ended.took, std::chrono::seconds(60)) << ended.out << ended.error;
}

using ManagersThatGoOn = ProcessManagers;
// Hydra ends the other ranks in any case.
INSTANTIATE_TEST_SUITE_P(Of, ManagersThatGoOn, testing::Values(kManagers[1]), [](const auto& manager) { return manager.param.name; });

TEST_P(ManagersThatGoOn, LetAllBeToldWhoWasKilled) {
    JobOptions options = by_it(4);
    options.starter.insert(options.starter.end() - 2, "--enable-recovery");  // Before the number of ranks.
    const Ended ended = run_ranks(4, {"death:kill:2:absent"}, options);
    const Words told = lines_with(ended.out, " told after ");
    EXPECT_EQ(told.size(), 3u) << ended.out << ended.error;
    for (const std::string& line : told) EXPECT_TRUE(has(line, "rank 2 on host "));
    EXPECT_EQ(count(ended.out, " done\n"), 3) << ended.out << ended.error;
}

TEST_P(ProcessManagers, AbortGivesItsCode) {
    // The rank's words go to a file, because a manager may end a job before it has read the output.
    const std::string reason = fmt::format("{}rollcall-reason-{}", testing::TempDir(), ::getpid());
    const Ended ended = run_ranks(4, {"aborts:1"}, by_it(4, {"sh", "-c", fmt::format("exec \"$0\" \"$@\" 2>>'{}'", reason)}));
    EXPECT_EQ(ended.code, 43) << ended.out << ended.error;
    std::ifstream file(reason);
    const std::string said{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(reason);
    EXPECT_EQ(count(said, "rank 1 on host "), 1) << said;
    EXPECT_TRUE(has(said, "aborted the job with code 43: enough of this"));
    EXPECT_EQ(count(ended.out, " done\n"), 0) << ended.out;
}

TEST_P(ProcessManagers, RollcallRunUnderneathIsNearer) {
    Words words{ROLLCALL_COMMAND, "run", "-n", "3"};
    expect_success(6, {"is_whole:3:rollcall run"}, by_it(2, words));
}

}  // namespace
}  // namespace rollcall::test
