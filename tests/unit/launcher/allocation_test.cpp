// The hosts of a batch system's allocation, as its environment tells them.
#include "launcher/hosts/allocation.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "launcher/remote.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::launcher {
namespace {

class Allocations : public testing::Test {
  protected:
    ~Allocations() override { clear(); }
    void SetUp() override { clear(); }
    static void clear() {
        for (const char* variable :
             {"SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE", "SLURM_STEP_ID", "SLURM_STEP_TASKS_PER_NODE",
              "SLURM_CPUS_PER_TASK", "PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "LSB_MCPU_HOSTS", "PE_HOSTFILE"})
            ::unsetenv(variable);
    }
    /// "Slurm: a:2 b:1"
    static std::string found(const std::map<std::string, std::string>& environment) {
        clear();
        for (const auto& [variable, value] : environment) ::setenv(variable.c_str(), value.c_str(), 1);
        const auto allocation = find_allocation();
        if (!allocation) return "none";
        std::string text = allocation->manager + ":";
        for (const Host& host : allocation->hosts) text += " " + host.name + ":" + std::to_string(host.slots);
        return text;
    }
    static std::string said(const std::map<std::string, std::string>& environment) {
        return refusal(ErrorCode::invalid_argument, [&] { found(environment); });
    }
    /// A file with this text, as long as the test runs.
    std::string file(const std::string& text) {
        const std::string path = testing::TempDir() + "rollcall-allocation-" + std::to_string(::getpid());
        std::ofstream(path) << text;
        return path;
    }
};

TEST_F(Allocations, AreNotFoundWhereThereAreNone) {
    EXPECT_EQ(found({}), "none");
    EXPECT_EQ(found({{"SLURM_JOB_NODELIST", ""}}), "none");
}

TEST_F(Allocations, OfSlurm) {
    EXPECT_EQ(found({{"SLURM_JOB_NODELIST", "n[0-2,07],m"}, {"SLURM_TASKS_PER_NODE", "2(x3),1,4"}}), "Slurm: n0:2 n1:2 n2:2 n07:1 m:4");
    EXPECT_EQ(found({{"SLURM_JOB_NODELIST", "n0"}, {"SLURM_JOB_CPUS_PER_NODE", "16"}}), "Slurm: n0:16");
    EXPECT_EQ(found({{"SLURM_JOB_NODELIST", "a,b"}, {"SLURM_TASKS_PER_NODE", "1(x2)"}, {"SLURM_JOB_CPUS_PER_NODE", "8(x2)"}}),
              "Slurm: a:1 b:1");
    EXPECT_EQ(find_allocation()->agent, kSrun);
    const auto allocation = find_allocation();
    for (const Host& host : allocation->hosts) EXPECT_TRUE(host.slots_given) << "--per-node may not exceed it";
    EXPECT_TRUE(
        contains(said({{"SLURM_JOB_NODELIST", "a,b"}, {"SLURM_TASKS_PER_NODE", "1"}}), "SLURM_TASKS_PER_NODE: it has numbers for 1 hosts"));
    EXPECT_TRUE(contains(said({{"SLURM_JOB_NODELIST", "a"}, {"SLURM_TASKS_PER_NODE", "2(x"}}), "'2(x' is not a number"));
    EXPECT_TRUE(contains(said({{"SLURM_JOB_NODELIST", "n[0-"}}), "cannot be read from SLURM_JOB_NODELIST: "));
    EXPECT_FALSE(contains(said({{"SLURM_JOB_NODELIST", "n[0-"}}), "--hosts:")) << "nobody gave it";
    EXPECT_TRUE(contains(said({{"SLURM_JOB_NODELIST", "a"}, {"SLURM_TASKS_PER_NODE", "1(x999999999)"}}), "too many hosts"));
}

TEST_F(Allocations, GiveTheirRemoteShellToHostsThatAreNamed) {
    const auto shell = [](const char* list) { return agent_in_allocation(parse_hosts(list)); };
    EXPECT_EQ(shell("n1,n2"), "");
    found({{"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_JOB_CPUS_PER_NODE", "2(x3)"}});
    EXPECT_EQ(shell("n1:4,n3"), kSrun);
    EXPECT_EQ(shell("n1,n4"), "");
    EXPECT_EQ(shell("anna@n1"), "");
    EXPECT_EQ(shell("localhost:4"), "");
    ::setenv("SLURM_JOB_CPUS_PER_NODE", "many", 1);
    EXPECT_EQ(shell("n1"), "") << "the allocation cannot be read, and need not be";
    found({{"LSB_MCPU_HOSTS", "a 4 b 2"}});
    EXPECT_EQ(shell("a"), "");
}

/// In the environment of a task, SLURM_TASKS_PER_NODE is about the step, but the nodes are those of the job.
TEST_F(Allocations, OfSlurmInsideAStep) {
    std::map<std::string, std::string> step{{"SLURM_JOB_NODELIST", "a,b"},
                                            {"SLURM_JOB_CPUS_PER_NODE", "8,4"},
                                            {"SLURM_STEP_ID", "0"},
                                            {"SLURM_TASKS_PER_NODE", "1"},
                                            {"SLURM_STEP_TASKS_PER_NODE", "1"}};
    EXPECT_EQ(found(step), "Slurm: a:8 b:4");
    step["SLURM_CPUS_PER_TASK"] = "4";
    EXPECT_EQ(found(step), "Slurm: a:2 b:1");
    step["SLURM_CPUS_PER_TASK"] = "16";
    EXPECT_EQ(found(step), "Slurm: a:1 b:1");
    step["SLURM_CPUS_PER_TASK"] = "many";
    EXPECT_TRUE(contains(said(step), "SLURM_CPUS_PER_TASK: 'many' is not a number"));
    step.erase("SLURM_JOB_CPUS_PER_NODE");
    EXPECT_EQ(found(step), "Slurm: a:1 b:1");
    // The user has set the number of tasks in the step.
    step["SLURM_TASKS_PER_NODE"] = "3(x2)";
    EXPECT_EQ(found(step), "Slurm: a:3 b:3");
}

TEST_F(Allocations, OfTheOthers) {
    const std::string lines = file("a\na\nb.example\na\n");
    EXPECT_EQ(found({{"PBS_NODEFILE", lines}}), "PBS: a:3 b.example:1");
    EXPECT_EQ(find_allocation()->agent, "");
    EXPECT_EQ(found({{"LSB_DJOB_HOSTFILE", lines}}), "LSF: a:3 b.example:1");
    EXPECT_EQ(found({{"LSB_MCPU_HOSTS", "a 4 b 2"}}), "LSF: a:4 b:2");
    const std::string queue = file("a 4 all.q@a UNDEFINED\nb.example 2 all.q@b <NULL>\n");
    EXPECT_EQ(found({{"PE_HOSTFILE", queue}}), "Grid Engine: a:4 b.example:2");
    EXPECT_TRUE(contains(said({{"LSB_MCPU_HOSTS", "a 4 b"}}), "LSB_MCPU_HOSTS: host 'b' has no number of slots"));
    EXPECT_TRUE(contains(said({{"PE_HOSTFILE", "/nonexistent"}}), "PE_HOSTFILE"));
    EXPECT_TRUE(contains(said({{"PBS_NODEFILE", "/nonexistent"}}), "PBS_NODEFILE"));
    ::unlink(queue.c_str());
}

TEST(Ssh, IsNotTheMasterOfOtherSessions) {
    const auto words = remote_command("", "n3", "/opt/rollcall");
    EXPECT_LT(std::find(words.begin(), words.end(), "-oControlMaster=no"), std::find(words.begin(), words.end(), "--"));
}

/// A shell on the other host reads what ssh is given.
TEST(Ssh, QuotesThePathOfTheCommand) {
    for (const char* const shell : {"", "ssh", "ssh -p 2222", "/usr/bin/ssh -p 2222 {host}"}) {
        const auto words = remote_command(shell, "n3", "/opt/my rollcall");
        ASSERT_GE(words.size(), 2u);
        EXPECT_EQ(words[words.size() - 2], "'/opt/my rollcall'") << shell;
    }
    const auto words = remote_command("ip netns exec {host}", "n3", "/opt/my rollcall");
    EXPECT_EQ(words[words.size() - 2], "/opt/my rollcall");
}

TEST(Srun, IsAnAgentByItsName) {
    const auto words = remote_command("srun", "n3", "/opt/rollcall");
    EXPECT_EQ(words.front(), "srun");
    EXPECT_EQ(words.back(), "agent");
    EXPECT_NE(std::find(words.begin(), words.end(), "--nodelist=n3"), words.end());
}

}  // namespace
}  // namespace rollcall::launcher
