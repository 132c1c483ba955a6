/// \file
/// Tests what `rollcall tune` measures and writes, and that jobs and `rollcall info` use it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <fmt/format.h>

#include "foundation/costs.hpp"
#include "tests/process/bench/bench_command.hpp"

namespace rollcall::test {
namespace {

class Tune : public BenchCommand {
  protected:
    std::string file(const std::string& name, const std::string& text) {
        const auto path = directory_ / name;
        std::ofstream(path) << text;
        return path;
    }
};

/// Without node memory the ranks of a host exchange messages, and costs decide.
constexpr const char* kByMessages = "ROLLCALL_NODE_MEMORY=no ";
constexpr const char* kSameChoices = " " ROLLCALL_TEST_RANKS " same_choices";

TEST_F(Tune, WritesWhatItMeasured) {
    const std::string path = directory_ / "new/costs";
    const Ended ended = run("tune --format json --file " + path);
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Costs costs = read_costs(path);
    std::map<std::string, double> now;
    for (const std::string& line : lines_of(ended.out)) {
        const Json row = Json::parse(line);
        now[row["cost"]] = row["now"];
        EXPECT_TRUE(row["change"].is_number()) << line;
    }
    for (const CostName& cost : kCostNames) {
        if (cost.name.starts_with("network_")) {
            EXPECT_EQ(costs.*cost.member, kBuiltInCosts.*cost.member) << "all ranks are on one host";
        } else {
            ASSERT_EQ(now.count(std::string(cost.name)), 1u) << cost.name;
            EXPECT_NEAR(now[std::string(cost.name)] * 1e9, static_cast<double>(costs.*cost.member), 1) << cost.name;
            EXPECT_LT(costs.*cost.member, 1'000'000'000) << cost.name;
        }
    }
    EXPECT_NE(ended.error.find("written to " + path), std::string::npos) << ended.error;
    EXPECT_NE(ended.error.find("not measured: network_latency, "), std::string::npos) << ended.error;
    EXPECT_NE(ended.error.find("ranks on two hosts"), std::string::npos) << ended.error;
    EXPECT_NE(contents(path).find("# Measured by `rollcall tune` with 2 ranks, over "), std::string::npos) << contents(path);
}

TEST_F(Tune, ReplacesAFileThatIsWrongAndKeepsWhatItDoesNotMeasure) {
    const std::string path = file("costs", "network_gap = 77us\n");
    ASSERT_EQ(run("tune", "ROLLCALL_COSTS=" + path).code, 0);
    EXPECT_EQ(read_costs(path).network_gap, 77'000);
    file("costs", "network_gap = never\n");
    const Ended ended = run("tune", "ROLLCALL_COSTS=" + path);
    ASSERT_EQ(ended.code, 0) << ended.error;
    EXPECT_NE(ended.error.find("the file is replaced, because it is wrong: " + path + ":1: network_gap = 'never'"), std::string::npos)
        << ended.error;
    EXPECT_EQ(read_costs(path).network_gap, kBuiltInCosts.network_gap);
}

TEST_F(Tune, RefusesInOneLine) {
    expect_refused("tune --ranks 1", {"--ranks", "allowed: "});
    const Ended nowhere = run("tune", "ROLLCALL_COSTS=no");
    EXPECT_EQ(nowhere.code, 2);
    EXPECT_NE(nowhere.error.find("ROLLCALL_COSTS=no names no file of costs; allowed: --file PATH"), std::string::npos) << nowhere.error;
    const Ended unwritable = run("tune --file /proc/costs");
    EXPECT_EQ(unwritable.code, 1);
    EXPECT_NE(unwritable.error.find("the file of costs '/proc/costs' cannot be written"), std::string::npos) << unwritable.error;
}

TEST_F(Tune, ReplacesRegularFilesOnly) {
    const auto pipe = directory_ / "pipe", link = directory_ / "link";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    expect_refused("tune --file " + pipe.string(), {"is no regular file", "allowed: "});
    EXPECT_TRUE(std::filesystem::is_fifo(pipe));
    const std::string path = file("costs", "network_gap = 77us\n");
    std::filesystem::create_symlink(path, link);
    const Ended ended = run("tune --file " + link.string());
    ASSERT_EQ(ended.code, 0) << ended.error;
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_NE(contents(path).find("# Measured by"), std::string::npos) << contents(path);
}

TEST_F(Tune, MakesTheFileBehindALink) {
    const auto link = directory_ / "link", loop = directory_ / "loop";
    std::filesystem::create_symlink("of_this_host/costs", link);  // relative to the link
    const Ended ended = run("tune --file " + link.string());
    ASSERT_EQ(ended.code, 0) << ended.error;
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_NE(contents(directory_ / "of_this_host" / "costs").find("# Measured by"), std::string::npos);
    std::filesystem::create_symlink(loop, loop);
    const Ended never = run("tune --file " + loop.string());
    EXPECT_EQ(never.code, 1);
    EXPECT_NE(never.error.find("cannot be written"), std::string::npos) << never.error;
}

TEST_F(Tune, OnlyRankZeroOfAJobNeedsAFile) {
    const std::string path = directory_ / "costs", tune = " " ROLLCALL_COMMAND " tune";
    const auto run_with = [&](const std::string& first, const std::string& second) {
        return run("run -n 1 env " + first + tune + " : -n 1 env " + second + tune);
    };
    const std::string names_one = "ROLLCALL_COSTS=" + path, names_none = "ROLLCALL_COSTS=no", has_no_home = "-u ROLLCALL_COSTS -u HOME";
    for (const std::string& second : {names_none, has_no_home}) {
        const Ended ended = run_with(names_one, second);
        ASSERT_EQ(ended.code, 0) << ended.error;
        EXPECT_GT(read_costs(path).node_latency, 0);
        std::filesystem::remove(path);
    }
    const Ended nowhere = run_with(names_none, names_one);
    EXPECT_NE(nowhere.code, 0);
    EXPECT_NE(nowhere.error.find("ROLLCALL_COSTS=no names no file of costs; allowed: --file PATH"), std::string::npos) << nowhere.error;
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Tune, InfoExplainsByTheFile) {
    expect_refused("info --explain broadcast --algorithms", {"--algorithms and --explain", "allowed: one of them"});
    const std::string words = "info --explain broadcast --bytes 64Ki --ranks 16 --format json";
    const auto row_of = [&](const std::string& costs) {
        const Ended ended = run(words, "ROLLCALL_COSTS=" + costs);
        EXPECT_EQ(ended.code, 0) << ended.error;
        for (const std::string& line : lines_of(ended.out))
            if (Json row = Json::parse(line); row["on"] == "a node each") return row;
        return Json{{"algorithm", ""}, {"because", ""}};
    };
    const Json built_in = row_of("no"), measured = row_of(file("costs", "network_latency = 10ms\nnetwork_gap = 1us\n"));
    EXPECT_EQ(built_in["algorithm"], "binary");
    EXPECT_NE(built_in["because"].get<std::string>().find("by the built-in costs: binary 442 us, pipelined "), std::string::npos)
        << built_in;
    EXPECT_EQ(measured["algorithm"], "linear");
    EXPECT_NE(measured["because"].get<std::string>().find("by the measured costs: linear "), std::string::npos) << measured;
}

// Over a network, too: over tcp of libfabric the ranks of one host share no memory.
constexpr const char* kSlow = "node_latency = 10ms\nnode_gap = 1us\nnetwork_latency = 10ms\nnetwork_gap = 1us\n";

// Only the file of rank 0 counts, so all ranks choose alike.
TEST_F(Tune, AllRanksChooseByTheFileOfRankZero) {
    const std::string slow = file("slow", kSlow), wrong = file("wrong", "node_latency = slow\n");
    const Ended ended =
        run(fmt::format("run -n 1 env ROLLCALL_COSTS={}{} : -n 3 env ROLLCALL_COSTS={}{}", slow, kSameChoices, wrong, kSameChoices),
            kByMessages);
    ASSERT_EQ(ended.code, 0) << ended.out << ended.error;
    EXPECT_NE(ended.out.find("broadcast of 70000 bytes to 4 ranks: linear, because: "), std::string::npos) << ended.out;
    EXPECT_NE(ended.out.find("by the measured costs: "), std::string::npos) << ended.out;
    const Ended usual = run(fmt::format("run -n 4{}", kSameChoices), std::string(kByMessages) + "ROLLCALL_COSTS=no");
    ASSERT_EQ(usual.code, 0) << usual.out << usual.error;
    EXPECT_EQ(usual.out.find("by the measured costs"), std::string::npos) << usual.out;
    EXPECT_NE(usual.out.find("by the built-in costs"), std::string::npos) << usual.out;
}

TEST_F(Tune, AWrongFileEndsTheJobWithItsLine) {
    const std::string wrong = file("wrong", "\nnetwork_gap = never\n");
    const Ended ended = run(fmt::format("run -n 2{}", kSameChoices), "ROLLCALL_COSTS=" + wrong);
    EXPECT_NE(ended.code, 0);
    EXPECT_NE((ended.out + ended.error).find(wrong + ":2: network_gap = 'never' is not allowed; allowed: a duration"), std::string::npos)
        << ended.out << ended.error;
}

}  // namespace
}  // namespace rollcall::test
