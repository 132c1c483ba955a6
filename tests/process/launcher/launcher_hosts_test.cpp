/// \file
/// Tests `rollcall run` over hosts, with real agents. All hosts are this one: the remote shell is a command that runs its arguments here,
/// so that no test needs root, keys or a second machine. tests/cluster has separate hosts.
#include "launcher/first_exit.hpp"
#include "tests/process/launcher/launched.hpp"

namespace {

using namespace rollcall::test;

Words probe_on(const std::string& hosts, const Words& options, const Words& steps) {
    Words program{kProbe};
    program.insert(program.end(), steps.begin(), steps.end());
    return on(hosts, options, program);
}

std::string sorted(const std::string& text) {
    Words lines = lines_of(text);
    std::sort(lines.begin(), lines.end());
    std::string all;
    for (const auto& line : lines) all += line + "\n";
    return all;
}

class Fanouts : public testing::TestWithParam<const char*> {
  protected:
    Words options(Words more = {}) const {
        more.insert(more.end(), {"--fanout", GetParam()});
        return more;
    }
};
INSTANTIATE_TEST_SUITE_P(Hosts, Fanouts, testing::Values("flat", "1", "2"), [](const auto& one) {
    return std::string(one.param) == "flat" ? std::string("Flat") : std::string("Tree") + one.param;
});

TEST_P(Fanouts, RunRanksWhereTheyBelong) {
    const Result result =
        run(on("a:2,b,c[1-3]:1", options(), shell("echo $ROLLCALL_TEST_HOST $ROLLCALL_BOOTSTRAP_RANK $ROLLCALL_BOOTSTRAP_SIZE")));
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(sorted(result.out), "a 0 6\na 1 6\nb 2 6\nc1 3 6\nc2 4 6\nc3 5 6\n");
    EXPECT_EQ(result.error, "");
}

TEST_P(Fanouts, ExchangeAndMeet) {
    const Result result =
        run(probe_on("a:2,b:2,c:2,d:2,e:2", options(), {"exchange:500", "barrier", "exchange:70000", "barrier", "leave"}));
    EXPECT_EQ(result.code, 0) << result.out << result.error;
}

TEST_P(Fanouts, TheFirstBadExitIsTheJobsCode) {
    const Result result = run(probe_on("a,b,c", options({"--grace", "100ms"}), {"barrier", "exit:9@2", "wait"}));
    EXPECT_EQ(result.code, 9);
    EXPECT_TRUE(has(result.error, "rank 2 on host c exited with code 9"));
}
// As when a survivor on another host notices a kill before the launcher hears of it. On a busy machine the kill may come too late to count.
TEST_P(Fanouts, AKillThatIsReportedSoonAfterASurvivorsExitIsTheJobsCode) {
    const auto begin = Clock::now();
    const Result result = run(probe_on("a,b,c", options(), {"barrier", "exit:5@2", "notice", "kill:9@1"}));
    const bool is_late = Clock::now() - begin > std::chrono::nanoseconds(rollcall::launcher::kMostOvertaken);
    EXPECT_TRUE(result.code == 137 || (is_late && result.code == 5)) << result.code << "\n" << result.error;
    EXPECT_TRUE(has(result.error, "rank 2 on host c exited with code 5"));
    EXPECT_EQ(has(result.error, "rank 1 on host b was killed by "), result.code == 137) << result.error;
}
TEST_P(Fanouts, AKillOnTheHostOfTheFirstExitDoesNotCount) {
    const Result result = run(probe_on("a,b:2", options(), {"barrier", "exit:5@2", "notice", "kill:9@1"}));
    EXPECT_EQ(result.code, 5) << result.error;
    EXPECT_FALSE(has(result.error, "was killed by ")) << result.error;
}
TEST_P(Fanouts, AKillAfterTheRanksWereAskedToEndDoesNotCount) {
    const Result result = run(probe_on("a,b,c", options({"--grace", "100ms"}), {"kill_at_term@1", "barrier", "exit:5@2", "wait"}));
    EXPECT_EQ(result.code, 5) << result.error;
    EXPECT_FALSE(has(result.error, "was killed by ")) << result.error;
}
TEST_P(Fanouts, EverySurvivorIsToldWhoWasKilled) {
    const Result result = run(probe_on("a:2,b:2,c:2", options(), {"barrier", "kill:9@4", "notice"}));
    EXPECT_EQ(result.code, 137);
    for (int rank = 0; rank < 6; ++rank) {
        if (rank == 4) continue;
        EXPECT_TRUE(has(result.out, fmt::format("{} notice 4", rank)));
    }
}

TEST_P(Fanouts, WhoWaitsForADeadRankIsTold) {
    const Result result = run(probe_on("a:2,b:2,c:2", options(), {"barrier", "exit:5@3", "barrier"}));
    EXPECT_EQ(result.code, 5);
    EXPECT_TRUE(has(result.out + result.error, "rank 3 on host"));
}

TEST_P(Fanouts, AbortEndsTheJobWithItsCodeAndSaysWhy) {
    const Result result = run(probe_on("a,b,c", options(), {"barrier", "abort:6:enough@2", "wait"}));
    EXPECT_EQ(result.code, 6);
    EXPECT_TRUE(has(result.error, "enough"));
}

TEST_P(Fanouts, OutputArrivesByteForByte) {
    const auto result = run(on("a:2,b:2,c:2", options({"--tag-output"}),
                               shell("i=0; while [ $i -lt 3000 ]; do echo line $i of a rank; echo error $i >&2; i=$((i+1)); done")));
    EXPECT_EQ(result.code, 0);
    for (int rank = 0; rank < 6; ++rank) {
        std::string expected, found;
        for (int i = 0; i < 3000; ++i) expected += fmt::format("[{}] line {} of a rank\n", rank, i);
        for (const auto& line : lines_of(result.out)) {
            if (line.starts_with(fmt::format("[{}] ", rank))) found += line + "\n";
        }
        EXPECT_EQ(found, expected);
        EXPECT_EQ(count(result.error, fmt::format("[{}] error ", rank)), 3000);
    }
}

TEST_P(Fanouts, StandardInputGoesToThoseItIsFor) {
    const std::string path = fmt::format("{}/rollcall-hosts-input-{}", testing::TempDir(), ::getpid());
    std::string text;
    for (int i = 0; i < 20000; ++i) text += fmt::format("line {}\n", i);
    std::ofstream(path) << text;
    for (const auto& [who, copies] : {std::pair("first", 1), std::pair("all", 4), std::pair("none", 0)}) {
        const int input = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        Launched::Given given;
        given.input = input;
        Launched job(on("a:2,b:2", options({"--input", who}), {"cat"}), given);
        const Result result = job.finish();
        ::close(input);
        EXPECT_EQ(result.code, 0);
        EXPECT_EQ(result.out.size(), copies * text.size()) << who;
        if (copies == 1) {
            EXPECT_EQ(result.out, text);
        }
    }
    ::unlink(path.c_str());
}

TEST_P(Fanouts, OutputThatNobodyTakesHoldsTheRanksAndIsNotLost) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Launched::Given given;
    given.output = ends[1];
    constexpr std::size_t kBytes = 6u << 20;
    auto job = std::make_unique<Launched>(on("a,b,c", options(), shell(fmt::format("head -c {} /dev/zero", kBytes))), given);
    ::close(ends[1]);
    const auto writers = [&] {
        const std::vector<pid_t> all = job->left();
        return std::count_if(all.begin(), all.end(),
                             [](pid_t process) { return contents(fmt::format("/proc/{}/comm", process)) == "head\n"; });
    };
    EXPECT_TRUE(eventually([&] { return writers() == 3; }));
    std::this_thread::sleep_for(milliseconds(300));  // A longer wait does no harm: nothing can end meanwhile.
    EXPECT_EQ(writers(), 3) << "the ranks are held while nobody reads";
    std::size_t taken = 0;
    std::vector<char> chunk(1 << 20);
    for (ssize_t bytes; (bytes = ::read(ends[0], chunk.data(), chunk.size())) > 0;) taken += static_cast<std::size_t>(bytes);
    EXPECT_EQ(job->finish().code, 0);
    EXPECT_EQ(taken, 3 * kBytes);
    ::close(ends[0]);
}

TEST_P(Fanouts, AReaderThatIsGoneEndsTheWriters) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Launched::Given given;
    given.output = ends[1];
    Launched job(on("a,b,c", options(), {"yes"}), given);
    ::close(ends[1]);
    char byte = 0;
    ASSERT_EQ(::read(ends[0], &byte, 1), 1);
    ::close(ends[0]);
    EXPECT_EQ(job.finish().code, 128 + SIGPIPE);
}

TEST_P(Fanouts, SignalsEndTheJob) {
    Launched job(on("a:2,b:2,c:2", options(), shell("echo ready; exec sleep 1000")));
    ASSERT_TRUE(job.saw("ready", 6));
    job.signal(SIGTERM);
    EXPECT_EQ(job.finish().code, 128 + SIGTERM);
    EXPECT_TRUE(job.left().empty());
}

TEST_P(Fanouts, AProgramThatIsNotThereIsOneSentence) {
    const Result result = run(on("a,b,c", options(), {"no-such-program"}));
    EXPECT_EQ(result.code, 127);
    EXPECT_EQ(lines_of(result.error).size(), 1u) << result.error;
    EXPECT_TRUE(has(result.error, "there is no such program in PATH"));
}

TEST_P(Fanouts, TheMapSaysWhoRunsWhere) {
    const Result result = run(on("a:2,b:2", options({"--display-map", "--bind-to", "core", "--map-by", "node"}), {"true"}));
    EXPECT_EQ(result.code, 0);
    EXPECT_TRUE(has(result.error, "4 ranks on 2 hosts"));
    EXPECT_TRUE(has(result.error, "a  ranks 0,2"));
    EXPECT_TRUE(has(result.error, "rank 3  b  core "));
}

TEST(Hosts, OneThatCannotBeReachedIsNamed) {
    const Result result =
        run({"--hosts", "a,b", "--agent", "sh -c 'test $0 = a && exec \"$@\"; echo no way to $0 >&2; exit 3' {host}", "true"});
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(has(result.error, "host b could not be reached"));
    EXPECT_TRUE(has(result.error, "no way to b"));
    EXPECT_FALSE(has(result.error, "--fanout"));
    // Host a starts the agent of host b.
    const Result tree = run({"--hosts", "a,b", "--fanout", "1", "--agent", "sh -c 'test $0 = a && exec \"$@\"; exit 3' {host}", "true"});
    EXPECT_TRUE(has(tree.error, "host b could not be reached"));
    EXPECT_TRUE(has(tree.error, "with --fanout flat the host of the command starts all agents"));
}

/// The shell's start-up files, or an account that does not allow logins, may print such text.
TEST(Hosts, WhatTheRemoteShellSaysFirstDoesNoHarm) {
    const Result greeted =
        run({"--hosts", "a,b", "--agent", "sh -c 'echo welcome; sleep 0.1; head -c 100000 /dev/zero; exec \"$@\"' {host}", "echo", "here"});
    EXPECT_EQ(greeted.code, 0);
    EXPECT_EQ(greeted.out, "here\nhere\n");
    EXPECT_EQ(greeted.error, "");
    const Result refused = run({"--hosts", "a", "--agent", "sh -c 'echo This account is not available.; exit 1' {host}", "true"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(has(refused.error, "ended with code 1: This account is not available."));
}

TEST(Hosts, OneThatDoesNotAnswerIsNamed) {
    // Host a must have answered by then, and host b must have been asked. On a busy machine that takes longer.
    for (int milliseconds = 300;; milliseconds *= 3) {
        const std::string limit = fmt::format("{}ms", milliseconds);
        const Result result = run({"--hosts", "a,b", "--launch-timeout", limit.c_str(), "--agent",
                                   "sh -c 'test $0 = a && exec \"$@\"; exec sleep 1000' {host}", "true"});
        ASSERT_EQ(result.code, 124) << result.error;
        EXPECT_TRUE(has(result.error, "not answered within " + limit)) << result.error;
        if (has(lines_of(result.error).at(0), "host b has")) return;
        ASSERT_LT(milliseconds, 10'000) << result.error;
    }
}

/// A default sshd does this with many simultaneous connections: it drops one, and accepts it a little later.
TEST(Hosts, ADroppedConnectionIsTriedAgain) {
    const std::string once = fmt::format("{}/rollcall-hosts-once-{}", testing::TempDir(), ::getpid());
    const Result result = run({"--hosts", "a,b", "--agent",
                               fmt::format("sh -c 'if test $0 = b && mkdir {}; then echo kex_exchange_identification: Connection closed by "
                                           "remote host >&2; exit 255; fi; exec "
                                           "\"$@\"' {{host}}",
                                           once),
                               "echo", "here"});
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(result.out, "here\nhere\n");
    EXPECT_EQ(::rmdir(once.c_str()), 0) << "it was never dropped";
}

TEST(Hosts, AKeyThatIsRefusedIsNotTriedAgain) {
    const std::string tries = fmt::format("{}/rollcall-hosts-tries-{}", testing::TempDir(), ::getpid());
    const Result result = run({"--hosts", "a", "--agent",
                               fmt::format("sh -c 'echo try >> {}; echo a: Permission denied >&2; exit 255' {{host}}", tries), "true"});
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(has(result.error, "ended with code 255: a: Permission denied"));
    EXPECT_EQ(contents(tries), "try\n");
    ::unlink(tries.c_str());
}

TEST(Hosts, RanksThatDoNotJoinInTimeAreNamed) {
    // All other ranks must be there by then. On a busy machine that takes longer, and a late rank is named before rank 3 is.
    for (int milliseconds = 500;; milliseconds *= 3) {
        const std::string limit = fmt::format("{}ms", milliseconds);
        const Result result = run(on("a:2,b:2", {"--launch-timeout", limit.c_str(), "--grace", "100ms", "-n", "3"},
                                     {kProbe, "exchange:10", "leave", ":", "-n", "1", "sleep", "1000"}));
        ASSERT_EQ(result.code, 124) << result.error;
        if (has(result.error, "1 of 4 ranks have not joined the job within " + limit + ": ") && has(result.error, "3 on b\n")) return;
        ASSERT_LT(milliseconds, 10'000) << result.error;
    }
}

TEST_P(Fanouts, RanksThatCannotBeStartedEndTheJob) {
    if (kNeedsDescriptors) GTEST_SKIP() << kNeedsDescriptors;
    Launched::Given given;
    given.hard_files = 60;
    Launched job(on("a:1,b:20,c:1", options(), {"sleep", "1000"}), given);
    const Result result = job.finish();
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(has(result.error, "on host b could not be started"));
    EXPECT_TRUE(has(result.error, "ulimit -n"));
    EXPECT_TRUE(job.left().empty());
}

/// The launcher starts its own ranks when it hears that the last host is prepared. The error must not blame that host.
TEST(Hosts, RanksOfThisHostThatCannotBeStartedEndTheJob) {
    if (kNeedsDescriptors) GTEST_SKIP() << kNeedsDescriptors;
    const FirstInPath ssh("ssh", "while [ $1 != -- ]; do shift; done; shift 2; exec sh -c \"exec $*\"");
    Launched::Given given;
    given.hard_files = 60;
    Launched job({"--hosts", "localhost:20,elsewhere:1", "sleep", "1000"}, given);
    const Result result = job.finish();
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(has(result.error, "could not be started"));
    EXPECT_EQ(count(result.error, "elsewhere"), 0) << result.error;
    EXPECT_TRUE(job.left().empty());
}

TEST(Hosts, ManyAgentsDoNotNeedAHigherLimitOfOpenFiles) {
    Launched::Given given;
    given.soft_files = 32;
    Launched job(on("h[0-15]", {"--fanout", "flat"}, shell("ulimit -Sn")), given);
    const Result result = job.finish();
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(count(result.out, "32\n"), 16) << result.out;
}

TEST(Hosts, ADirectoryIsTheSameEverywhere) {
    const auto base = std::filesystem::canonical(testing::TempDir()) / fmt::format("rollcall-hosts-directory-{}", ::getpid());
    std::filesystem::create_directory(base);
    // A remote shell starts in another directory.
    const Result result = run({"--hosts", "a,b", "--agent", "sh -c 'cd / && exec \"$@\"' {host}", "--directory",
                               std::filesystem::relative(base).string(), "pwd", "-P"});
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(result.out, base.string() + "\n" + base.string() + "\n");
    std::filesystem::remove(base);
}

TEST(Hosts, OutputGoesToFiles) {
    const std::string directory = fmt::format("{}/rollcall-hosts-output-{}/deep", testing::TempDir(), ::getpid());
    const Result result = run(on("a,b", {"--output-directory", directory}, shell("echo out $ROLLCALL_BOOTSTRAP_RANK; echo err >&2")));
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.out + result.error, "");
    EXPECT_EQ(contents(directory + "/rank.0.out"), "out 0\n");
    EXPECT_EQ(contents(directory + "/rank.1.out"), "out 1\n");
    EXPECT_EQ(contents(directory + "/rank.1.err"), "err\n");
    std::filesystem::remove_all(std::filesystem::path(directory).parent_path());
}

TEST(Hosts, AnAgentWithoutALauncherSaysSo) {
    const int status = std::system((kCommand + " agent < /dev/null > /dev/null 2> /dev/null").c_str());
    EXPECT_EQ(WEXITSTATUS(status), 2);
}

}  // namespace
