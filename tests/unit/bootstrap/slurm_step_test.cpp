/// \file
/// What Slurm's variables say of a step, and the ports that its tasks may meet at.
#include "bootstrap/slurm/step.hpp"

#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rollcall/error.hpp>

#include "tests/sanitizers.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap {
namespace {

/// Sets variables, and gives the environment back as it was.
class Variables {
  public:
    explicit Variables(const std::map<std::string, std::string>& values) {
        for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_STEP_ID", "SLURM_STEPID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                                 "SLURM_NTASKS", "SLURM_NODEID", "SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_LOCALID", "SLURM_GTIDS",
                                 "SLURM_STEP_NODELIST", "SLURM_NODELIST", "SLURM_LAUNCH_NODE_IPADDR", "SLURM_SRUN_COMM_HOST"}) {
            if (const char* value = std::getenv(name)) before_[name] = value;
            ::unsetenv(name);
            names_.emplace_back(name);
        }
        for (const auto& [name, value] : values) ::setenv(name.c_str(), value.c_str(), 1);
    }
    ~Variables() {
        for (const std::string& name : names_) {
            ::unsetenv(name.c_str());
            if (const auto found = before_.find(name); found != before_.end()) ::setenv(name.c_str(), found->second.c_str(), 1);
        }
    }

  private:
    std::vector<std::string> names_;
    std::map<std::string, std::string> before_;
};

std::map<std::string, std::string> variables_of_a_task() {
    return {{"SLURM_JOB_ID", "7"},
            {"SLURM_STEP_ID", "2"},
            {"SLURM_PROCID", "5"},
            {"SLURM_STEP_NUM_TASKS", "8"},
            {"SLURM_NTASKS", "32"},
            {"SLURM_NODEID", "1"},
            {"SLURM_STEP_NUM_NODES", "4"},
            {"SLURM_LOCALID", "1"},
            {"SLURM_GTIDS", "4,5"},
            {"SLURM_NODELIST", "m[0-9]"},
            {"SLURM_STEP_NODELIST", "n[0-3]"},
            {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.9"},
            {"SLURM_SRUN_COMM_HOST", "10.0.0.9"}};
}

TEST(SlurmStep, IsReadFromTheEnvironment) {
    const Variables set(variables_of_a_task());
    const SlurmStep step = slurm_step();
    EXPECT_EQ(step.id(), "7.2");
    EXPECT_EQ(step.rank, 5);
    EXPECT_EQ(step.size, 8);
    EXPECT_EQ(step.node, 1);
    EXPECT_EQ(step.nodes, 4);
    EXPECT_EQ(step.local_rank, 1);
    EXPECT_EQ(step.local_size, 2);
    EXPECT_EQ(step.first_host, (std::vector<std::string>{"n0", "10.0.0.9"}));
}

TEST(SlurmStep, WhatIsMissingOrWrongIsNamed) {
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {"SLURM_JOB_ID", "x"}, {"SLURM_STEP_ID", ""},  {"SLURM_PROCID", "-1"}, {"SLURM_STEP_NUM_TASKS", "8a"},
        {"SLURM_NODEID", "9"}, {"SLURM_LOCALID", "2"}, {"SLURM_PROCID", "8"},  {"SLURM_STEP_NODELIST", "n[0-"}};
    for (const auto& [name, value] : wrong) {
        auto variables = variables_of_a_task();
        variables[name] = value;
        const Variables set(variables);
        const std::string text = refusal(ErrorCode::bootstrap, [] { slurm_step(); });
        EXPECT_NE(text.find("SLURM_PROCID says that srun started this process"), std::string::npos) << text;
    }
    for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_NODEID", "SLURM_LOCALID", "SLURM_GTIDS"}) {
        auto variables = variables_of_a_task();
        variables.erase(name);
        const Variables set(variables);
        EXPECT_NE(refusal(ErrorCode::bootstrap, [] { slurm_step(); }).find("is not set"), std::string::npos) << name;
    }
}

TEST(SlurmHostList, ItsFirstHostIsFound) {
    const std::map<std::string, std::string> lists = {{"n0", "n0"},
                                                      {"n0,n1", "n0"},
                                                      {"n[0-3]", "n0"},
                                                      {"n[007-112,4]", "n007"},
                                                      {"n[5,7-9],gpu[1-2]", "n5"},
                                                      {"rack[2-3]node[10-20]", "rack2node10"},
                                                      {"a[1,3]-ib", "a1-ib"},
                                                      {"login-1.example.org", "login-1.example.org"},
                                                      {"", ""},
                                                      {",n1", ""},
                                                      {"n[", ""},
                                                      {"n[]", ""},
                                                      {"n[a-b]", ""},
                                                      {"n[-3]", ""},
                                                      {"n]0", ""}};
    for (const auto& [list, host] : lists) EXPECT_EQ(first_of_host_list(list), host) << list;
}

TEST(SlurmHostList, AnyTextIsReadWithoutHarm) {
    const char* const given = std::getenv("ROLLCALL_TEST_SEED");
    const auto seed = given ? static_cast<unsigned>(std::strtoul(given, nullptr, 0)) : std::random_device()();
    fmt::print("ROLLCALL_TEST_SEED={}\n", seed);
    std::minstd_rand random(seed);
    const std::string letters = "n0129[]-,a.";
    for (int round = 0; round < test::repetitions(20'000); ++round) {
        std::string list;
        for (auto left = random() % 16; left > 0; --left) list += letters[random() % letters.size()];
        const std::string host = first_of_host_list(list);
        EXPECT_EQ(host.find_first_of("[],"), std::string::npos) << list;
        EXPECT_LE(host.size(), list.size());
    }
}

TEST(SlurmPorts, AreInTheirRangeAndDiffer) {
    for (const std::uint32_t job : {0u, 1u, 4294967295u, 123456u}) {
        for (const std::uint32_t number : {0u, 1u, 4294967290u}) {
            SlurmStep step;
            step.job = job;
            step.step = number;
            std::set<int> ports;
            for (int attempt = 0; attempt < kSlurmPorts; ++attempt) {
                const int port = slurm_port(step, attempt);
                EXPECT_GE(port, 24'000);
                EXPECT_LT(port, 28'096);
                EXPECT_TRUE(ports.insert(port).second);
            }
        }
    }
}

}  // namespace
}  // namespace rollcall::bootstrap
