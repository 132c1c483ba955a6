// The file of costs: written, read back, and refused with the line that is wrong.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include "foundation/costs.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall {
namespace {

class CostsFile : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "rollcall-costs-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        directory_ = name;
        path_ = directory_ / "costs";
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    Costs read(const std::string& text) {
        std::ofstream(path_) << text;
        return read_costs(path_);
    }
    std::string refused(const std::string& text) {
        return refusal(ErrorCode::invalid_setting, [&] { read(text); });
    }

    std::filesystem::path directory_;
    std::string path_;
};

TEST_F(CostsFile, IsReadAsItWasWritten) {
    Costs costs;
    Nanoseconds value = 1;
    for (const CostName& cost : kCostNames) costs.*cost.member = value = 7 * value + 1;
    EXPECT_EQ(read(write_costs(costs, "Measured by a test.")), costs);
    EXPECT_EQ(read(write_costs(kBuiltInCosts, "")), kBuiltInCosts);
}

TEST_F(CostsFile, MayLeaveOutCosts) {
    const Costs costs = read("# nothing\n\n  network_latency=1.5us # more\r\n\tnetwork_gap = 200ns\n");
    EXPECT_EQ(costs.network_latency, 1500);
    EXPECT_EQ(costs.network_gap, 200);
    EXPECT_EQ(costs.copy_mebibyte, kBuiltInCosts.copy_mebibyte);
    EXPECT_EQ(read(""), kBuiltInCosts);
}

TEST_F(CostsFile, IsRefusedByTheLineThatIsWrong) {
    const std::string unknown = refused("network_latency = 1us\nnetwork_latancy = 1us\n");
    EXPECT_TRUE(contains(unknown, path_ + ":2: 'network_latancy' is no cost; allowed: network_latency, network_gap, "));
    EXPECT_TRUE(contains(unknown, "let `rollcall tune` write the file again"));
    EXPECT_TRUE(contains(refused("\nnode_gap = fast\n"), path_ + ":2: node_gap = 'fast' is not allowed; allowed: a duration"));
    for (const char* value : {"", "0", "-1us", "2000min", "1us 2us", "99999999999999999999s"})
        EXPECT_TRUE(contains(refused(std::string("copy_mebibyte = ") + value), ":1: copy_mebibyte = ")) << value;
    EXPECT_TRUE(contains(refused("network_gap\n"), ":1: 'network_gap' is no `name = duration`"));
    EXPECT_TRUE(contains(refused("node_gap = 1us\nnode_gap = 1us\n"), ":2: node_gap is there twice"));
    EXPECT_TRUE(contains(refused("\x1b[2J = 1us"), "'\\x1b[2J'"));
}

TEST_F(CostsFile, ThatTheSettingNamesMustBeThere) {
    const std::string missing = refusal(ErrorCode::invalid_setting, [&] { costs_of_setting(path_); });
    EXPECT_TRUE(contains(missing, "'" + path_ + "' cannot be read (No such file or directory)"));
    EXPECT_EQ(costs_of_setting("no"), kBuiltInCosts);
    EXPECT_EQ(costs_path("no"), "");
    EXPECT_EQ(costs_path("a/b"), "a/b");
}

TEST_F(CostsFile, OfTheHomeDirectoryMayBeMissing) {
    const char* const home = std::getenv("HOME");
    const std::string before = home ? home : "";
    ::setenv("HOME", directory_.c_str(), 1);
    EXPECT_EQ(costs_path(""), directory_.string() + "/.config/rollcall/costs");
    EXPECT_EQ(costs_of_setting(""), kBuiltInCosts);
    std::filesystem::create_directories(directory_ / ".config/rollcall");
    std::ofstream(directory_ / ".config/rollcall/costs") << "network_gap = 3us\n";
    EXPECT_EQ(costs_of_setting("").network_gap, 3000);
    for (const auto& unset : {+[] { ::setenv("HOME", "", 1); }, +[] { ::unsetenv("HOME"); }}) {
        unset();
        const passwd* const user = ::getpwuid(::geteuid());
        EXPECT_EQ(costs_path(""), user && *user->pw_dir ? std::string(user->pw_dir) + "/.config/rollcall/costs" : "");
    }
    if (home)
        ::setenv("HOME", before.c_str(), 1);
    else
        ::unsetenv("HOME");
}

}  // namespace
}  // namespace rollcall
