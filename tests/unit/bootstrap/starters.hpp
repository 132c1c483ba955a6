/// \file
/// For tests of starters: a process without a starter.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace rollcall::bootstrap {

/// A directory, and an environment without other starters; both as before afterwards.
class RendezvousStarters : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "rollcall-starters-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
        for (const char* variable : kVariables) {
            if (const char* value = std::getenv(variable)) saved_[variable] = value;
            ::unsetenv(variable);
        }
        set("ROLLCALL_NET", "lo");
        set("ROLLCALL_KEY_FILE", path("key"));
        set("ROLLCALL_LAUNCH_TIMEOUT", "20s");
    }
    void TearDown() override {
        for (const char* variable : kVariables) ::unsetenv(variable);
        for (const auto& [variable, value] : saved_) ::setenv(variable.c_str(), value.c_str(), 1);
        std::filesystem::remove_all(directory_);
    }
    static void set(const char* variable, const std::string& value) { ::setenv(variable, value.c_str(), 1); }
    std::string path(const std::string& name) const { return directory_ + "/" + name; }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(directory_)) names.push_back(entry.path().filename());
        return names;
    }

  private:
    static constexpr const char* kVariables[] = {"RANK",
                                                 "WORLD_SIZE",
                                                 "MASTER_ADDR",
                                                 "MASTER_PORT",
                                                 "LOCAL_WORLD_SIZE",
                                                 "TORCHELASTIC_USE_AGENT_STORE",
                                                 "TORCHELASTIC_RUN_ID",
                                                 "ROLLCALL_BOOTSTRAP_FD",
                                                 "ROLLCALL_NET",
                                                 "ROLLCALL_KEY_FILE",
                                                 "ROLLCALL_LAUNCH_TIMEOUT",
                                                 "ROLLCALL_PORT",
                                                 "ROLLCALL_RENDEZVOUS",
                                                 "ROLLCALL_RANK",
                                                 "ROLLCALL_SIZE",
                                                 "ROLLCALL_JOB_ID"};
    std::string directory_;
    std::map<std::string, std::string> saved_;
};

}  // namespace rollcall::bootstrap
