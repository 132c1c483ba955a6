/// \file
/// Tests `rollcall bench pingpong --raw-ucx` with programs that stand for ucx_perftest.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/process/bench/bench_command.hpp"

namespace rollcall::test {
namespace {

class BenchUcxPerftest : public BenchCommand {
  protected:
    void SetUp() override {
        BenchCommand::SetUp();
        tools_ = directory_ / "tools";
        std::filesystem::create_directory(tools_);
    }
    /// Makes a program in the folder of tools.
    void make(const std::string& name, const std::string& script) {
        std::ofstream(tools_ / name) << "#!/bin/sh\n" << script;
        std::filesystem::permissions(tools_ / name, std::filesystem::perms::owner_all);
    }

    std::filesystem::path tools_;
};

TEST_F(BenchUcxPerftest, StandsBesideOurs) {
    make("ucx_perftest", "[ \"$1\" != 127.0.0.1 ] || echo 'Final: 1000 0.25 9.9 0.5 1 1 1 1'\n");
    const Ended ended =
        run("bench pingpong --raw-ucx --transport shm --iterations 2 --rounds 3 --format json", "PATH=" + tools_.string() + ":$PATH");
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 2u) << ended.out;
    const Json ours = Json::parse(lines[0]), theirs = Json::parse(lines[1]);
    EXPECT_EQ(theirs["algorithm"], "ucx_perftest");
    EXPECT_EQ(theirs["iterations"], 3);
    EXPECT_DOUBLE_EQ(theirs["run_time"]["median"], 0.25e-6) << "the smaller one of the percentile and the mean, in seconds";
    EXPECT_GT(theirs["rollcall_ratio"]["median"], 0.0);
    EXPECT_TRUE(ours["rollcall_ratio"]["median"].is_null());
}

TEST_F(BenchUcxPerftest, ASignalKeepsTheRoundsThatAreComplete) {
    const std::string second = (directory_ / "second").string(), server = (directory_ / "server").string();
    // In the second round, the client asks the benchmark to end, and the server waits for ever.
    make("ucx_perftest", "if [ \"$1\" != 127.0.0.1 ]; then [ ! -e " + second + " ] || { echo $$ >" + server +
                             "; exec sleep 100; }; exit; fi\n" + "mkdir " + second +
                             " 2>/dev/null && exec echo 'Final: 1000 0.25 9.9 0.5'\n" + "while [ ! -s " + server +
                             " ]; do sleep 0.01; done\nkill -INT $PPID\nexec sleep 100\n");
    const Ended ended =
        run("bench pingpong --raw-ucx --transport shm --iterations 2 --rounds 3 --format csv", "PATH=" + tools_.string() + ":$PATH");
    EXPECT_EQ(ended.code, 130) << ended.error;
    EXPECT_EQ(lines_of(ended.out).size(), 3u) << "a heading and the first round: " << ended.out;
    EXPECT_NE(ended.error.find("signal 2 came while ucx_perftest ran"), std::string::npos) << ended.error;
    EXPECT_NE(::kill(std::stoi("0" + contents(server)), 0), 0) << "its server runs on";
}

TEST_F(BenchUcxPerftest, IsMissedBeforeTheFirstJob) {
    ASSERT_EQ(std::system(("ln -s $(command -v timeout) " + tools_.string()).c_str()), 0);
    const Ended ended =
        run("bench pingpong --raw-ucx --transport shm --iterations 1 --rounds 1 --env ROLLCALL_LOG=debug", "PATH=" + tools_.string());
    EXPECT_EQ(ended.code, 1);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.error, "rollcall: ucx_perftest is not there: install it (Debian and Ubuntu: ucx-utils)\n");
}

}  // namespace
}  // namespace rollcall::test
