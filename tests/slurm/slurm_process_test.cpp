/// \file
/// Jobs in a real Slurm: srun with each of its plugins starts 8 ranks on 4 nodes, which are all this host. As root.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "tests/process/harness.hpp"
#include "tests/slurm/cluster.hpp"

namespace rollcall::test {
namespace {

/// How srun's plugins are called, and what the ranks say has started them.
struct Plugin {
    const char* name;
    const char* starter;
    friend void PrintTo(const Plugin& plugin, std::ostream* out) { *out << plugin.name; }
};
const Plugin kPlugins[] = {{"pmi2", "a launcher that speaks PMI-1"}, {"pmix", "a launcher that speaks PMIx"}, {"none", "srun (Slurm)"}};

class Slurm : public testing::TestWithParam<Plugin> {
  protected:
    static void SetUpTestSuite() {
        if (!cluster_) cluster_ = std::make_unique<SlurmCluster>();
    }
    static void TearDownTestSuite() {
        const std::string name_space = cluster_->name_space();
        cluster_.reset();
        EXPECT_TRUE(processes_of(name_space).empty()) << "processes of Slurm are left";
    }
    void SetUp() override {
        if (cluster_->impossible()) GTEST_SKIP() << "skipped: " << cluster_->failure();
        ASSERT_TRUE(cluster_->started()) << cluster_->failure();
    }
    /// Whether srun has the plugin. Some distributions do not build it for PMIx.
    static bool has_plugin(const std::string& name) {
        static const Ended list = run_ranks(0, {}, by({"srun", "--mpi=list"}));
        return has(list.out + list.error, name);
    }
    static Words inside(const Words& command) {
        Words words{"timeout", "100"};
        const Words entry = cluster_->inside();
        words.insert(words.end(), entry.begin(), entry.end());
        words.insert(words.end(), command.begin(), command.end());
        return words;
    }
    /// srun of 8 tasks on 4 nodes; `before` precedes the program.
    static JobOptions by_srun(const std::string& plugin, const Words& before = {}) {
        Words words = inside({"srun", "--mpi=" + plugin, "-N4", "-n8"});
        words.insert(words.end(), before.begin(), before.end());
        return {.environment = {}, .launcher = {}, .starter = words};
    }
    static JobOptions by(const Words& command) { return {.environment = {}, .launcher = {}, .starter = inside(command)}; }

    static std::unique_ptr<SlurmCluster> cluster_;
};
std::unique_ptr<SlurmCluster> Slurm::cluster_;

std::string whole(int size, const std::string& starter) { return fmt::format("is_whole:{}:{}", size, starter); }

class EveryPlugin : public Slurm {
  protected:
    void SetUp() override {
        Slurm::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        // Without the word for which ctest counts all of these tests as skipped (CMakeLists.txt).
        if (!has_plugin(GetParam().name)) GTEST_SKIP() << "this srun has no plugin " << GetParam().name;
    }
};
INSTANTIATE_TEST_SUITE_P(Srun, EveryPlugin, testing::ValuesIn(kPlugins), [](const auto& plugin) { return plugin.param.name; });

TEST_P(EveryPlugin, StartsAJobOfAllTasks) {
    expect_success(8, {whole(8, GetParam().starter), "storm:" + std::to_string(40 / kSlower) + ":1", "splits"}, by_srun(GetParam().name));
}

TEST_P(EveryPlugin, CarriesDataByTcp) {
    if (kSanitized) GTEST_SKIP() << "without a sanitizer it runs, and under one the other tests of Slurm do";
    JobOptions options = by_srun(GetParam().name);
    options.environment = {"UCX_TLS=tcp"};
    expect_success(8, {whole(8, GetParam().starter), "storm:" + std::to_string(20 / kSlower) + ":1"}, options);
}

void expect_told_soon(const Ended& ended) {
    const Words told = lines_with(ended.out, " told after ");
    EXPECT_EQ(told.size(), 7u) << ended.out << ended.error;
    for (const std::string& line : told) EXPECT_LT(std::atoi(line.c_str() + line.find(" told after ") + 12), 10'000) << line;
    EXPECT_EQ(ended.code, 128 + SIGKILL) << ended.out << ended.error;
}

// One beside the leader of its host, and one that is the leader of its host.
TEST_P(EveryPlugin, ARankThatIsKilledIsNamedToTheOthers) {
    const std::uint64_t first = seed();
    for (const auto& [victim, host] : {std::pair{1, "n0"}, {7, "n3"}}) {
        if (kSanitized && victim != (first % 2 == 0 ? 1 : 7)) continue;
        const Ended ended = run_ranks(8, {fmt::format("death:kill:{}:absent:20000", victim)}, by_srun(GetParam().name));
        EXPECT_EQ(count(ended.out, " done\n"), 7) << ended.out << ended.error;
        expect_told_soon(ended);
        for (const std::string& line : lines_with(ended.out, " told after "))
            EXPECT_TRUE(has(line, fmt::format("rank {} on host {}", victim, host)));
    }
}

TEST_P(EveryPlugin, TheDeathOfRank0EndsTheJobForAll) {
    const Ended ended = run_ranks(8, {"root_dies:1"}, by_srun(GetParam().name));
    EXPECT_EQ(count(ended.out, "wrong"), 0) << ended.out;
    expect_told_soon(ended);
}

TEST_P(EveryPlugin, ATaskThatDoesNotComeIsMissedAtTheDeadline) {
    const std::uint64_t first = seed();
    for (const int missing : {0, 3, 5}) {
        if (kSanitized && missing != std::array{0, 3, 5}[first % 3]) continue;
        const std::string script = fmt::format("[ $SLURM_PROCID = {} ] && exit 1; exec \"$0\" \"$@\"", missing);
        JobOptions options = by_srun(GetParam().name, {"sh", "-c", script});
        options.environment = {"ROLLCALL_LAUNCH_TIMEOUT=1s"};
        const Ended ended = run_ranks(8, {"storm:1:1"}, options);
        EXPECT_EQ(ended.code, 5) << ended.out << ended.error;
        // The rank whose deadline passes first reports the timeout. Other ranks may report that rank as missing instead.
        EXPECT_EQ(count(ended.out, "in the start: error "), 7) << ended.out << ended.error;
        EXPECT_GE(count(ended.out, "in the start: error timeout "), 1) << ended.out << ended.error;
        EXPECT_LT(ended.took, std::chrono::seconds(60));
    }
}

TEST_P(EveryPlugin, OneTaskIsAlone) {
    expect_success(1, {whole(1, "alone")}, by({"srun", std::string("--mpi=") + GetParam().name, "-N1", "-n1"}));
}

TEST_P(EveryPlugin, AnAbortEndsTheStepAndItsReasonIsSaid) {
    const Ended ended = run_ranks(8, {"aborts:3"}, by_srun(GetParam().name));
    EXPECT_NE(ended.code, 0);
    EXPECT_EQ(count(ended.out, " done\n"), 0) << ended.out << ended.error;
    EXPECT_TRUE(has(ended.error, "enough of this"));
    EXPECT_LT(ended.took, std::chrono::seconds(60));
}

// Evident, and cut off on the way to the program: an error of each task, and not 8 jobs of one.
void expect_unusable(const JobOptions& options, const std::string& part) {
    const Ended ended = run_ranks(8, {whole(1, "alone")}, options);
    EXPECT_EQ(ended.code, 5) << ended.out << ended.error;
    EXPECT_EQ(count(ended.out, " done\n"), 0);
    EXPECT_EQ(count(ended.out, "error bootstrap"), 8) << ended.out << ended.error;
    EXPECT_EQ(count(ended.out, part), 8) << ended.out << ended.error;
}

using SlurmSteps = Slurm;

TEST_F(SlurmSteps, WhatIsEvidentButUnusableIsAnError) {
    expect_unusable(by_srun("pmi2", {"env", "PMI_FD=987"}), "that descriptor is not open");
    if (has_plugin("pmix")) expect_unusable(by_srun("pmix", {"env", "-u", "PMIX_NAMESPACE"}), "PMIX_NAMESPACE is not set");
    expect_unusable(by_srun("none", {"env", "-u", "SLURM_NODEID"}), "SLURM_NODEID is not set");
    expect_unusable(by_srun("none", {"env", "ROLLCALL_MUNGE_SOCKET=/run/no-munge", "ROLLCALL_KEY_FILE=/proc/no-key"}),
                    "nothing can protect the data between the nodes: munge is not usable");
}

TEST_F(SlurmSteps, WithoutMungeTheKeyFileServes) {
    expect_success(8, {whole(8, "srun (Slurm)")},
                   by_srun("none", {"env", "ROLLCALL_MUNGE_SOCKET=/run/no-munge", "ROLLCALL_KEY_FILE=/run/slurm/key"}));
}

TEST_F(SlurmSteps, RollcallRunTakesTheHostsOfTheAllocation) {
    expect_success(8, {whole(8, "rollcall run")}, by({"salloc", "-Q", "-N4", "-n8", ROLLCALL_COMMAND, "run"}));
    const Ended ended = run_ranks(0, {}, by({"salloc", "-Q", "-N4", "-n8", ROLLCALL_COMMAND, "run", "--dry-run", "true"}));
    EXPECT_TRUE(has(ended.out, "8 ranks on 4 hosts")) << ended.out << ended.error;
}

TEST_F(SlurmSteps, RollcallRunInATaskTakesTheHostsOfTheAllocation) {
    const Ended ended = run_ranks(0, {},
                                  by({"salloc", "-Q", "-N2", "-n4", "srun", "--mpi=none", "--label", "-N1", "-n1", ROLLCALL_COMMAND, "run",
                                      "--per-node", "1", "sh", "-c", "echo this is $SLURMD_NODENAME"}));
    EXPECT_EQ(ended.code, 0) << ended.error;
    EXPECT_EQ(count(ended.out, "0: this is n"), 2) << ended.out << ended.error;
}

/// With each of these alone, srun would refuse to start an agent, or say that something is wrong.
TEST_F(SlurmSteps, SettingsOfAnotherStepDoNotReachAgents) {
    const Ended ended =
        run_ranks(0, {},
                  by({"salloc", "-Q", "-N2", "-n2", "env", "SLURM_BCAST=/nonexistent/program", "SLURM_CONSTRAINT=none", "SLURM_GPUS=8",
                      "SLURM_GPUS_PER_TASK=1", "SLURM_NTASKS_PER_GPU=2", "SLURM_STEP_GRES=gpu:1", "SLURM_WORKING_DIR=/nonexistent",
                      ROLLCALL_COMMAND, "run", "sh", "-c", "echo this is $SLURM_WORKING_DIR"}));
    EXPECT_EQ(ended.code, 0) << ended.error;
    EXPECT_EQ(count(ended.out, "this is /nonexistent"), 2) << ended.out;
    EXPECT_EQ(count(ended.error, "error: "), 0) << ended.error;
}

TEST_F(SlurmSteps, OutsideOfStepsAProgramIsAlone) { expect_success(1, {whole(1, "alone")}, by({"salloc", "-N4", "-n8"})); }

TEST_F(SlurmSteps, RollcallRunInATaskIsNearer) {
    for (const Plugin& plugin : kPlugins) {
        if (!has_plugin(plugin.name)) continue;
        expect_success(3, {whole(3, "rollcall run")},
                       by({"srun", std::string("--mpi=") + plugin.name, "-N1", "-n1", ROLLCALL_COMMAND, "run", "-n", "3"}));
    }
}

TEST_F(SlurmSteps, OfOneJobMayRunSideBySide) {
    const std::string step =
        fmt::format("srun --mpi=none --overlap -N4 -n8 {} {} & ", ROLLCALL_TEST_RANKS, "'is_whole:8:srun (Slurm)' storm:20:1 splits");
    const Ended ended = run_ranks(0, {}, by({"salloc", "-N4", "-n8", "sh", "-c", step + step + step + "wait; true"}));
    EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
    EXPECT_EQ(count(ended.out, " done\n"), 24) << ended.out << ended.error;
}

TEST_F(SlurmSteps, InfoSaysWhoStartsAProgram) {
    const std::string info = fmt::format("{} info --format csv", ROLLCALL_COMMAND);
    for (const Plugin& plugin : kPlugins) {
        if (!has_plugin(plugin.name)) continue;
        const Ended ended = run_ranks(0, {}, by({"srun", std::string("--mpi=") + plugin.name, "-N2", "-n2", "sh", "-c", info}));
        EXPECT_EQ(ended.code, 0) << ended.error;
        EXPECT_EQ(count(ended.out, fmt::format("started by,{}", plugin.starter)), 2) << ended.out;
    }
}

// Whatever ends a test, nothing of its cluster stays.
TEST(SlurmClusters, GoWithTheirTest) {
    int found[2];
    ASSERT_EQ(::pipe(found), 0);
    const pid_t test = ::fork();
    if (test == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing else ends it when this test is killed
        const SlurmCluster cluster;
        char name_space[64] = {};
        std::snprintf(name_space, sizeof name_space, "%s", cluster.impossible() ? "impossible" : cluster.name_space().c_str());
        if (::write(found[1], name_space, sizeof name_space) < 0) ::_exit(1);
        for (;;) ::pause();
    }
    ::close(found[1]);  // so that a child that dies early ends the reading
    char name_space[64] = {};
    EXPECT_EQ(::read(found[0], name_space, sizeof name_space), static_cast<ssize_t>(sizeof name_space));
    const std::size_t before = processes_of(name_space).size();
    ::kill(test, SIGKILL);
    ::waitpid(test, nullptr, 0);
    ::close(found[0]);
    if (std::string(name_space) == "impossible") GTEST_SKIP() << "skipped: there can be no cluster here";
    EXPECT_GE(before, 7u);  // the script, munged, slurmctld and four slurmd
    for (int waited = 0; !processes_of(name_space).empty() && waited < 10'000; waited += 10) ::usleep(10'000);
    EXPECT_TRUE(processes_of(name_space).empty());
}

}  // namespace
}  // namespace rollcall::test
