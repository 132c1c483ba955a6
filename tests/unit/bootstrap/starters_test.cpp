/// \file
/// Tests which starter is chosen for which environment. Tests in which ranks join are in tests/process and tests/slurm.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <rollcall/error.hpp>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/frames.hpp"
#include "bootstrap/starters/directory.hpp"
#include "bootstrap/starters/outer_environment.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {
namespace {

using Environment = std::map<std::string, std::string>;

const std::vector<const char*>& starter_variables() {
    static const std::vector<const char*> all = {kDescriptorVariable,
                                                 kSizeVariable,
                                                 kOuterEnvironmentVariable,
                                                 "SLURM_PROCID",
                                                 "SLURM_STEP_ID",
                                                 "SLURM_NTASKS",
                                                 "SLURM_STEP_NUM_TASKS",
                                                 "SLURM_JOB_ID",
                                                 "SLURM_JOBID",
                                                 "SLURM_NODEID",
                                                 "SLURM_LOCALID",
                                                 "SLURM_GTIDS",
                                                 "SLURM_STEP_NODELIST",
                                                 "SLURM_NODELIST",
                                                 "SLURM_STEP_NUM_NODES",
                                                 "SLURM_NNODES",
                                                 "PMI_RANK",
                                                 "PMI_FD",
                                                 "PMI_SIZE",
                                                 "PMI_ID",
                                                 "PMI_PORT",
                                                 "OMPI_COMM_WORLD_SIZE",
                                                 "OMPI_COMM_WORLD_RANK",
                                                 "PMIX_RANK",
                                                 "PMIX_NAMESPACE",
                                                 kDirectoryVariable,
                                                 kDirectoryRankVariable,
                                                 kDirectorySizeVariable,
                                                 kDirectoryJobVariable,
                                                 "RANK",
                                                 "WORLD_SIZE",
                                                 "MASTER_ADDR",
                                                 "MASTER_PORT"};
    return all;
}

class Starters : public testing::Test {
  protected:
    void SetUp() override {
        for (const char* variable : starter_variables()) {
            if (const char* value = std::getenv(variable)) saved_[variable] = value;
            ::unsetenv(variable);
        }
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        socket_.reset(ends[0]);
        other_.reset(ends[1]);
    }
    void TearDown() override {
        for (const char* variable : starter_variables()) ::unsetenv(variable);
        for (const auto& [variable, value] : saved_) ::setenv(variable.c_str(), value.c_str(), 1);
    }
    static void set(const Environment& environment) {
        for (const char* variable : starter_variables()) ::unsetenv(variable);
        for (const auto& [variable, value] : environment) ::setenv(variable.c_str(), value.c_str(), 1);
    }
    /// The number of an open socket, and one of a socket that is not open.
    std::string open_socket() const { return std::to_string(socket_.get()); }
    static std::string closed_socket() { return "987"; }

  private:
    Environment saved_;
    Descriptor socket_, other_;
};

Environment join(Environment one, const Environment& more) {
    for (const auto& [variable, value] : more) one[variable] = value;
    return one;
}

const Environment kTask = {{"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_NTASKS", "8"}};
const Environment kTaskByPmix = join(kTask, {{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "slurm.pmix.7.0"}});
const Environment kMpirun = {{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "1625620481"}};

const Environment kTorchrun = {{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "n0"}, {"MASTER_PORT", "29500"}};

TEST_F(Starters, AreToldByTheirVariables) {
    const Environment hydra = {{"PMI_FD", open_socket()}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}};
    const std::vector<std::pair<Environment, std::string>> cases = {
        {{}, "alone"},
        {{{"ROLLCALL_BOOTSTRAP_FD", "5"}}, "rollcall run"},
        {hydra, "a launcher that speaks PMI-1"},
        {kMpirun, "Open MPI's mpirun"},
        {kTask, "srun (Slurm)"},
        {{{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "4"}}, "srun (Slurm)"},
        {kTaskByPmix, "a launcher that speaks PMIx"},
        {join(kTask, hydra), "a launcher that speaks PMI-1"},
        {{{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "prterun-1"}}, "a launcher that speaks PMIx"},
        {{{"PMI_RANK", "0"}}, "a launcher that speaks PMI (mpiexec)"},
        {{{"PMI_PORT", "n0:39123"}, {"PMI_ID", "0"}}, "a launcher that speaks PMI over a port (mpiexec -pmi-port)"},
        {{{"ROLLCALL_RENDEZVOUS", "/shared"}, {"ROLLCALL_RANK", "1"}, {"ROLLCALL_SIZE", "2"}}, "a rendezvous directory"},
        {kTorchrun, "a launcher like torchrun"},
    };
    for (const auto& [environment, starter] : cases) {
        set(environment);
        EXPECT_EQ(evident_starter().starter, starter);
        if (starter != "alone") {
            EXPECT_TRUE(environment.contains(evident_starter().variable)) << starter;
        }
    }
}

TEST_F(Starters, TheInnermostWins) {
    const Environment hydra = {{"PMI_FD", open_socket()}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}};
    Environment left_by_hydra = hydra;
    left_by_hydra["PMI_FD"] = closed_socket();
    const std::vector<std::pair<Environment, std::string>> cases = {
        {join(join(kTask, hydra), {{"ROLLCALL_BOOTSTRAP_FD", "5"}}), "rollcall run"},
        {join(kTask, kTorchrun), "a launcher like torchrun"},
        {join(kMpirun, kTorchrun), "a launcher like torchrun"},
        {join(kTorchrun, {{"ROLLCALL_RENDEZVOUS", "/shared"}, {"ROLLCALL_SIZE", "4"}}), "a rendezvous directory"},
        // mpirun and hydra start their daemons by srun, so srun's variables are those of the daemons.
        {join(kTask, kMpirun), "Open MPI's mpirun"},
        {join(kTaskByPmix, hydra), "a launcher that speaks PMI-1"},
        {join(kMpirun, hydra), "a launcher that speaks PMI-1"},
        {join(left_by_hydra, kMpirun), "Open MPI's mpirun"},
    };
    for (const auto& [environment, starter] : cases) {
        set(environment);
        EXPECT_EQ(evident_starter().starter, starter);
    }
}

TEST_F(Starters, OneTaskIsAlone) {
    const std::vector<Environment> cases = {
        {{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_NTASKS", "8"}},
        {{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "1"}},
        {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}},  // a batch script, outside of any step
        {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "8"}},  // a shell that salloc has started
        join(kTaskByPmix, {{"SLURM_STEP_NUM_TASKS", "1"}}),
        {{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}},
        {{"PMI_FD", open_socket()}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}},
        {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}},
        join(kTorchrun, {{"WORLD_SIZE", "1"}}),
        {{"RANK", "1"}, {"WORLD_SIZE", "4"}},  // variables of another starter
    };
    for (const auto& environment : cases) {
        set(environment);
        EXPECT_EQ(evident_starter().starter, "alone");
        EXPECT_EQ(find_bootstrap()->place().size, 1);
    }
}

/// What a `rollcall run` of one process gives its process, in this environment.
Environment in_run_of_one(const Environment& outer) {
    std::vector<std::string> assignments;
    for (const auto& [variable, value] : outer) assignments.push_back(variable + "=" + value);
    return join(outer,
                {{kDescriptorVariable, "5"}, {kSizeVariable, "1"}, {kOuterEnvironmentVariable, encode_outer_environment(assignments)}});
}

TEST_F(Starters, InTheScriptOfARunOfOneProcessWin) {
    const Environment hydra = {{"PMI_FD", open_socket()}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}};
    const Environment directory = {{kDirectoryVariable, "/shared"}, {kDirectoryRankVariable, "0"}, {kDirectorySizeVariable, "2"}};
    const Environment other_rank = join(directory, {{kDirectoryRankVariable, "1"}});
    const Environment place = {{kDirectoryRankVariable, "0"}};
    const std::vector<std::pair<Environment, std::string>> cases = {
        {in_run_of_one({}), "rollcall run"},
        {in_run_of_one(directory), "rollcall run"},
        {in_run_of_one(place), "rollcall run"},
        {in_run_of_one(join(kTask, hydra)), "rollcall run"},
        {in_run_of_one(join(kTask, kTorchrun)), "rollcall run"},
        {join(in_run_of_one({}), directory), "a rendezvous directory"},
        {join(in_run_of_one(directory), other_rank), "a rendezvous directory"},
        {join(in_run_of_one(kTask), kTorchrun), "a launcher like torchrun"},
        {join(in_run_of_one(kTorchrun), hydra), "a launcher that speaks PMI-1"},
        {join(in_run_of_one({}), kMpirun), "Open MPI's mpirun"},
        {join(in_run_of_one(kTask), join(kTask, {{"SLURM_STEP_ID", "1"}})), "srun (Slurm)"},
        {join(in_run_of_one({}), {{"PMI_FD", open_socket()}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), "rollcall run"},
        // A program sets these for its framework, and then makes its job.
        {join(in_run_of_one({}), join(kTorchrun, {{"RANK", "0"}, {"WORLD_SIZE", "1"}})), "rollcall run"},
    };
    for (const auto& [environment, starter] : cases) {
        set(environment);
        EXPECT_EQ(evident_starter().starter, starter);
    }
    // A run of several processes starts ranks.
    set(join(join(in_run_of_one({}), {{kSizeVariable, "2"}}), join(directory, hydra)));
    EXPECT_EQ(evident_starter().starter, "rollcall run");
}

TEST_F(Starters, APlaceWithoutItsDirectoryIsRefused) {
    const Environment place = {{"ROLLCALL_RANK", "0"}, {"ROLLCALL_SIZE", "2"}};
    const std::vector<Environment> cases = {
        place,
        {{"ROLLCALL_RANK", "0"}},
        {{"ROLLCALL_SIZE", "2"}},
        // A starter of one process has started the script that starts the ranks.
        join(place, {{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}),
        join(place, {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}),
        join(place, {{"PMI_FD", open_socket()}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}),
        join(place, join(kTorchrun, {{"RANK", "0"}, {"WORLD_SIZE", "1"}})),
        join(in_run_of_one({}), place),
    };
    for (const Environment& environment : cases) {
        set(environment);
        EXPECT_FALSE(evident_starter().alone);
        EXPECT_FALSE(evident_starter().supported);
        try {
            find_bootstrap();
            ADD_FAILURE() << "is a job of one process";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bootstrap);
            EXPECT_NE(std::string(error.what()).find("but ROLLCALL_RENDEZVOUS is not"), std::string::npos) << error.what();
        }
    }
    const Environment one = {{"ROLLCALL_RANK", "0"}, {"ROLLCALL_SIZE", "1"}};
    for (const Environment& environment : {one, join(one, {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}})}) {
        set(environment);
        EXPECT_TRUE(evident_starter().alone);
    }
    // Another starter has started the process.
    set(join(kTask, {{"ROLLCALL_RANK", "0"}, {"ROLLCALL_SIZE", "2"}}));
    EXPECT_EQ(evident_starter().starter, "srun (Slurm)");
}

TEST_F(Starters, AProcessWhoseParentHasJoinedIsAlone) {
    const std::string mark = mark_of_this_process(), bytes = mark.substr(mark.find(':'));
    const std::string other_bytes = std::string(bytes.size() - 1, '0');
    // The mark before a fork, and the one of the program that has executed this one.
    for (const std::string& inherited : {std::to_string(::getppid()) + bytes, std::to_string(::getpid()) + ":" + other_bytes}) {
        ::setenv(kJoinedVariable, inherited.c_str(), 1);
        EXPECT_EQ(find_bootstrap()->place().size, 1) << inherited;
    }
    ::setenv(kJoinedVariable, mark.c_str(), 1);
    EXPECT_THROW(find_bootstrap(), Error);
    ::unsetenv(kJoinedVariable);
}

TEST_F(Starters, TheInnermostWinsOfOneProcessToo) {
    const Environment hydra = {{"PMI_FD", open_socket()}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}};
    const Environment mpirun = {{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "1625620481"}};
    const Environment torchrun = join(kTorchrun, {{"RANK", "0"}, {"WORLD_SIZE", "1"}});
    const Environment directory = {{kDirectoryVariable, "/shared"}, {kDirectoryRankVariable, "0"}, {kDirectorySizeVariable, "1"}};
    const std::vector<Environment> cases = {join(kTask, hydra),          join(kTaskByPmix, hydra), join(kMpirun, hydra),
                                            join(kTask, mpirun),         join(kTask, torchrun),    join(kMpirun, torchrun),
                                            join(kTaskByPmix, torchrun), join(kTask, directory),   join(kTorchrun, directory)};
    for (const auto& environment : cases) {
        set(environment);
        EXPECT_EQ(evident_starter().starter, "alone");
        EXPECT_TRUE(evident_starter().alone);
        EXPECT_TRUE(environment.contains(evident_starter().variable));
        EXPECT_EQ(find_bootstrap()->name(), "alone");
    }
}

TEST_F(Starters, OfOneProcessThatIsGoneDoNotHideWhatIsThere) {
    // Hydra leaves its socket open, but a shell or wrapper between it and this process may close it. So a closed socket does not show that
    // Hydra is the innermost starter.
    set(join(kTask, {{"PMI_FD", closed_socket()}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}));
    EXPECT_EQ(evident_starter().starter, "srun (Slurm)");
    // A shell in a step of one task, where a user has started mpiexec.
    const Environment shell = {{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}};
    const Environment shell_by_pmix = join(shell, {{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "slurm.pmix.7.0"}});
    for (const Environment& environment : {shell, shell_by_pmix}) {
        set(join(environment, {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}));
        EXPECT_FALSE(evident_starter().supported);
    }
}

TEST_F(Starters, LeaveNothingToTheChildrenOfARankButTorchrunsVariables) {
    const Environment torchrun = join(kTorchrun, {{"RANK", "0"}, {"WORLD_SIZE", "1"}});
    set(join(join(kTaskByPmix, kMpirun), join({{"PMI_FD", closed_socket()}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}, torchrun)));
    EXPECT_EQ(find_bootstrap()->name(), "alone");
    for (const char* told : {"SLURM_PROCID", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_FD", "PMI_RANK"})
        EXPECT_EQ(std::getenv(told), nullptr) << told;
    for (const auto& [variable, value] : torchrun) EXPECT_EQ(std::string(std::getenv(variable.c_str())), value);
}

TEST_F(Starters, WhatIsEvidentButUnusableIsAnErrorAndNoJobOfOne) {
    const std::vector<std::pair<Environment, std::string>> cases = {
        {{{"PMI_FD", closed_socket()}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}, "that descriptor is not open"},
        {{{"PMI_FD", open_socket()}, {"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}, "there is no such rank"},
        {{{"PMI_FD", open_socket()}, {"PMI_RANK", "1"}}, "there is no such rank"},
        {{{"PMI_FD", "many"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}, "PMI_FD"},
        {{{"PMI_RANK", "0"}}, "PMI_RANK is set"},
        {{{"PMI_PORT", "n0:39123"}, {"PMI_ID", "1"}}, "PMI_ID is set"},
        {{{"PMIX_RANK", "1"}}, "PMIX_NAMESPACE is not set"},
        {{{"OMPI_COMM_WORLD_SIZE", "2"}}, "PMIX_NAMESPACE is not set"},
        {kTask, "SLURM_JOB_ID is not set"},
        {{{"SLURM_PROCID", "x"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}}, "SLURM_PROCID=x is not a number"},
    };
    for (const auto& [environment, part] : cases) {
        set(environment);
        try {
            find_bootstrap();
            ADD_FAILURE() << "no Error was thrown: " << part;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bootstrap);
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find("rollcall run"), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find("to run alone"), std::string::npos) << error.what();
        }
    }
}

}  // namespace
}  // namespace rollcall::bootstrap
