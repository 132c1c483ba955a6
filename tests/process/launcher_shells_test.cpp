/// \file
/// Tests how `rollcall run` calls remote shells, and what it gives to their ranks. The shells are scripts that run their arguments here.
#include "tests/process/launched.hpp"

namespace {

using namespace rollcall::test;

/// In an allocation of Slurm, this name is the way back to ssh.
TEST(Shells, SshByItsNameIsTheDefault) {
    const Result unnamed = run({"--hosts", "localhost:1,a:1", "--dry-run", "true"});
    const Result named = run({"--hosts", "localhost:1,a:1", "--agent", "ssh", "--dry-run", "true"});
    EXPECT_EQ(named.code, 0) << named.error;
    EXPECT_EQ(named.out, unnamed.out);
    EXPECT_EQ(count(named.out, " by: ssh "), 1) << named.out;
}

TEST(Shells, SettingsOfAnotherStepReachRanksButNotTheAgentsSrun) {
    const Words names{"SLURM_CPUS_PER_TASK", "SLURM_EXACT",      "SLURM_EXCLUSIVE",        "SLURM_LABELIO",     "SLURM_STDERRMODE",
                      "SLURM_STDINMODE",     "SLURM_STDOUTMODE", "SLURM_THREADS_PER_CORE", "SRUN_CPUS_PER_TASK"};
    for (const std::string& name : names) ::setenv(name.c_str(), "of-a-step", 1);
    const FirstInPath srun("srun", "env | grep of-a-step >&2; while [ $1 != -- ]; do shift; done; shift; exec \"$@\"");
    for (const char* fanout : {"flat", "1"}) {
        const Result result = run({"--hosts", "a,b", "--agent", "srun", "--fanout", fanout, "-n", "2", "--tag-output", "sh", "-c",
                                   "env | grep =of-a-step | sort"});
        EXPECT_EQ(result.code, 0);
        EXPECT_EQ(result.error, "");
        for (const std::string& name : names) EXPECT_EQ(count(result.out, "] " + name + "=of-a-step\n"), 2) << result.out;
    }
    for (const std::string& name : names) ::unsetenv(name.c_str());
}

}  // namespace
