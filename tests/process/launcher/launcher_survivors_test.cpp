/// \file
/// `rollcall run --max-failures`: which failures of ranks a job outlives, and how it ends if there are too many.
#include <tuple>

#include "tests/process/launcher/launched.hpp"

namespace {

using namespace rollcall::test;

/// A file whose existence tells ranks to go on.
class Go {
  public:
    Go() { ::unlink(path.c_str()); }
    ~Go() { ::unlink(path.c_str()); }
    void give() const { std::ofstream(path) << "go"; }
    const std::string path = fmt::format("{}/rollcall-survivors-go-{}", testing::TempDir(), ::getpid());
};

/// Six ranks: on one host, on three, and on three with a tree of agents.
class Survivors : public testing::TestWithParam<const char*> {
  protected:
    static bool is_one_host() { return GetParam() == std::string("0"); }
    static Words words(const Words& options, const Words& steps) {
        if (is_one_host()) return probe(6, steps, options);
        Words program{kProbe}, all{"--fanout", GetParam()};
        program.insert(program.end(), steps.begin(), steps.end());
        all.insert(all.end(), options.begin(), options.end());
        return on("a:2,b:2,c:2", all, program);
    }
    /// How a sentence begins about rank 3, which is on host b, or on the only one.
    static std::string rank_3() { return is_one_host() ? "rank 3 on host" : "rank 3 on host b"; }
};
INSTANTIATE_TEST_SUITE_P(Hosts, Survivors, testing::Values("0", "flat", "1"), [](const auto& one) {
    const std::string fanout = one.param;
    return fanout == "0" ? std::string("One") : fanout == "flat" ? std::string("Flat") : "Tree" + fanout;
});

TEST_P(Survivors, AreToldOfAFailureAndGoOn) {
    for (const auto& [step, how] :
         {std::pair("kill:9@3", "was killed by signal 9 (Killed)"), std::pair("exit:3@3", "exited with code 3")}) {
        const Go go;
        Launched job(words({"--max-failures", "2", "--grace", "20ms"},
                           {"barrier", step, "notice", "await:" + go.path, "print:still here", "leave"}));
        ASSERT_TRUE(job.saw(fmt::format("notice 3: {}", how), 5)) << job.so_far().error;
        std::this_thread::sleep_for(milliseconds(200));  // A job that gave them a time would have ended them by then.
        go.give();
        const Result result = job.finish();
        EXPECT_EQ(result.code, 0) << result.error;
        EXPECT_EQ(count(result.out, "still here\n"), 5) << result.out;
        EXPECT_EQ(lines_of(result.error).size(), 1u) << result.error;
        EXPECT_TRUE(has(result.error, rank_3())) << result.error;
        EXPECT_TRUE(has(result.error, fmt::format("{}; the job goes on, because --max-failures allows 2 failures (1 so far)\n", how)))
            << result.error;
        EXPECT_TRUE(job.left().empty());
    }
}

TEST_P(Survivors, EndAfterOneFailureTooMany) {
    Launched job(words({"--max-failures", "1", "--grace", "100ms"}, {"barrier", "kill:9@3", "notice", "exit:7@1", "wait"}));
    const Result result = job.finish();
    EXPECT_EQ(result.code, 7) << result.error;
    EXPECT_TRUE(has(result.error, "--max-failures allows 1 failure (1 so far)")) << result.error;
    EXPECT_TRUE(has(result.error, "exited with code 7; the job is ended\n")) << result.error;
    EXPECT_TRUE(job.left().empty());
}

TEST_P(Survivors, MayBeOneRankOnly) {
    const Result one = run(words({"--max-failures", "all"}, {"barrier", "kill:9@3", "notice", "exit:5@!0", "leave"}));
    EXPECT_EQ(one.code, 0) << one.error;
    EXPECT_TRUE(has(one.error, "; the job goes on, because --max-failures allows all ranks to fail (1 so far)\n")) << one.error;
    EXPECT_EQ(lines_of(one.error).size(), 5u) << one.error;
    // If no rank ends well, the code is that of the first failure.
    const Result none = run(words({"--max-failures", "all"}, {"barrier", "kill:9@3", "notice", "exit:5"}));
    EXPECT_EQ(none.code, 137) << none.error;
    EXPECT_EQ(lines_of(none.error).size(), 6u) << none.error;
}

TEST_P(Survivors, EndWhenOneOfThemAbortsTheJob) {
    const Result result = run(words({"--max-failures", "all"}, {"barrier", "kill:9@3", "notice", "abort:6:enough@5", "wait"}));
    EXPECT_EQ(result.code, 6) << result.error;
    EXPECT_TRUE(has(result.error, "aborted the job with code 6: enough")) << result.error;
}

TEST_P(Survivors, EndAtTheTimeLimitAndBySignals) {
    const Words steps{"barrier", "kill:9@3", "notice", "wait"};
    EXPECT_EQ(run(words({"--max-failures", "all", "--timeout", "1s"}, steps)).code, 124);
    Launched job(words({"--max-failures", "all"}, steps));
    ASSERT_TRUE(job.saw("notice 3", 5)) << job.so_far().error;
    job.signal(SIGTERM);
    EXPECT_EQ(job.finish().code, 128 + SIGTERM);
    EXPECT_TRUE(job.left().empty());
}

/// The others wait for this rank, so no rank could ever start.
TEST_P(Survivors, EndIfNotAllHaveStarted) {
    const Result result = run(words({"--max-failures", "all"}, {"exit:3@3", "barrier", "leave"}));
    EXPECT_EQ(result.code, 3) << result.error;
    EXPECT_TRUE(has(result.error, "exited with code 3; the job is ended, because it needs all ranks to start\n")) << result.error;
}

TEST_P(Survivors, OutliveALostHost) {
    if (is_one_host()) return;
    // In the tree, host c is lost with host b, whose agent has started that of host c.
    const bool is_flat = GetParam() == std::string("flat");
    const int lost = is_flat ? 2 : 4, left = 6 - lost;
    const Words dies{"barrier", "kill_parent:9@2", "wait@2"};
    {
        const Go go;
        Words steps = dies;
        steps.insert(steps.end(), {"notice", "await:" + go.path, "print:still here", "leave"});
        Launched job(words({"--max-failures", std::to_string(lost), "--grace", "20ms"}, steps));
        ASSERT_TRUE(job.was_told(fmt::format("the job goes on, because --max-failures allows {0} failures ({0} so far)", lost)))
            << job.so_far().error;
        ASSERT_TRUE(job.saw("rank 0 notice ") && job.saw("rank 1 notice ")) << job.so_far().out;
        std::this_thread::sleep_for(milliseconds(200));
        go.give();
        const Result result = job.finish();
        EXPECT_EQ(result.code, 0) << result.error;
        EXPECT_EQ(count(result.out, "still here\n"), left) << result.out;
        EXPECT_TRUE(has(result.error, "rollcall run: host b was lost: ")) << result.error;
        EXPECT_EQ(count(result.error, "so far)"), 1) << result.error;
        EXPECT_TRUE(eventually([&] { return job.left().empty(); }));
    }
    Words steps = dies;
    steps.push_back("wait");
    const Result result = run(words({"--max-failures", std::to_string(lost - 1), "--grace", "100ms"}, steps));
    EXPECT_EQ(result.code, 137) << result.error;
    EXPECT_TRUE(has(result.error, "host b was lost: ") && has(result.error, "; the job is ended\n")) << result.error;
}

/// An agent that is told to end says so, and then its connection closes. Both are one loss.
TEST(Survivor, IsToldOnceOfALostHost) {
    const Go go;
    Launched job(
        on("a,b", {"--max-failures", "1"},
           shell(fmt::format("if [ $ROLLCALL_TEST_HOST = b ]; then set -- $(cat /proc/$PPID/stat); kill -TERM $4; exec sleep 1000; fi; "
                             "while [ ! -e {} ]; do sleep 0.01; done",
                             go.path))));
    EXPECT_TRUE(job.was_told("host b was lost: its agent got signal 15 (Terminated); the job goes on")) << job.so_far().error;
    std::this_thread::sleep_for(milliseconds(500));  // more than enough for the connection to close
    go.give();
    const Result result = job.finish();
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(lines_of(result.error).size(), 1u) << result.error;
}

/// What is read is for all ranks, and the next of it is read when all have taken it.
TEST(Survivor, StillGetsItsInputWhenAHostIsLost) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Launched::Given given;
    given.input = ends[0];
    Launched job(on("a,b,c", {"--fanout", "flat", "--max-failures", "1", "--input", "all"},
                    shell("read line; test $ROLLCALL_TEST_HOST != b || { kill -KILL $PPID; exec sleep 1000; }; exec cat")),
                 given);
    ::close(ends[0]);
    const auto type = [&](const std::string& line) {
        EXPECT_EQ(::write(ends[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
    };
    type("first\n");
    EXPECT_TRUE(job.was_told("host b was lost")) << job.so_far().error;
    type("second\n");
    EXPECT_TRUE(job.saw("second\n", 2));
    type("third\n");
    EXPECT_TRUE(job.saw("third\n", 2));
    ::close(ends[1]);
    const Result result = job.finish();
    EXPECT_EQ(result.code, 0) << result.error;
}

/// The stacks of a lost host never come.
TEST(Survivor, IsTracedWithoutWaitingForALostHost) {
    const FirstInPath gdb("gdb", "echo \"#0 in a function of $2\"");
    const auto begin = Clock::now();
    const Result result = run(on("a,b", {"--max-failures", "1", "--timeout", "1s", "--stack-traces"},
                                 shell("test $ROLLCALL_TEST_HOST != b || kill -KILL $PPID; exec sleep 1000")));
    EXPECT_EQ(result.code, 124) << result.error;
    EXPECT_LT(Clock::now() - begin, seconds(15)) << result.error;
    EXPECT_EQ(count(result.error, "#0 in a function of"), 1) << result.error;
}

TEST(Survivor, CountsAreRefusedThatAreNone) {
    for (const auto& [option, value, why] : {
             std::tuple("--max-failures", "-1", "rollcall: run: --max-failures takes a number from 0 to 65536, or all, not '-1'"),
             std::tuple("--max-failures", "some", "not 'some'"),
             std::tuple("--max-failures", "", "--max-failures: its value is empty"),
             std::tuple("--fanout", "none", "rollcall: run: --fanout takes a number from 1 to 65536, or flat, not 'none'"),
             std::tuple("--enable-recovery", "1", "here it is --max-failures all"),
         }) {
        const Result result = run({option, value, "-n", "1", "true"});
        EXPECT_EQ(result.code, 2) << option;
        EXPECT_TRUE(has(result.error, why)) << result.error;
    }
}

TEST(Survivor, MayBeAProgramThatNeverJoins) {
    const Result result = run({"-n", "3", "--max-failures", "2", "sh", "-c", "exit $ROLLCALL_BOOTSTRAP_RANK"});
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(count(result.error, " exited with code "), 2) << result.error;
    EXPECT_EQ(run({"-n", "2", "--max-failures", "0", "sh", "-c", "exit $ROLLCALL_BOOTSTRAP_RANK"}).code, 1);
}

/// Until a rank joins, the launcher cannot tell ordinary programs from ranks that need each other.
TEST(Survivor, CannotJoinWithoutARankThatFailedBefore) {
    const Go go;
    const std::string script = fmt::format("while [ ! -e {} ]; do sleep 0.01; done; exec {} barrier", go.path, kProbe);
    Launched job({"-n", "1", "--max-failures", "all", "sh", "-c", "exit 3", ":", "-n", "2", "sh", "-c", script});
    EXPECT_TRUE(job.was_told("the job goes on")) << job.so_far().error;
    go.give();
    const Result result = job.finish();
    EXPECT_EQ(result.code, 3) << result.error;
    EXPECT_TRUE(has(result.error, "has joined it, and it needs all ranks to start\n")) << result.error;
    // Whoever gives --launch-timeout says that all ranks are to join.
    EXPECT_EQ(
        run({"-n", "1", "--max-failures", "all", "--launch-timeout", "60s", "sh", "-c", "exit 3", ":", "-n", "1", "sleep", "1000"}).code,
        3);
}

TEST(Survivor, IsNoneOfAProgramThatCannotBeStarted) {
    const std::string path = fmt::format("{}/rollcall-survivors-test-{}", testing::TempDir(), ::getpid());
    std::ofstream(path) << "#!/no/such/interpreter\n";
    ::chmod(path.c_str(), 0755);
    const Result result = run({"-n", "1", "--max-failures", "all", "sleep", "1000", ":", "-n", "1", path});
    EXPECT_EQ(result.code, 126) << result.error;
    EXPECT_TRUE(has(result.error, "; the job is ended\n")) << result.error;
    ::unlink(path.c_str());
}

/// One rank dies, by SIGKILL or by an exit with code 3. The others wait for it, get an error that names it, and go on to their own end.
TEST(Survivor, GetsAnErrorAndGoesOn) {
    for (const char* const scenario : {"death:kill:2:absent:1000", "gives_up:2"}) {
        const Ended ended = run_ranks(4, {scenario}, {.environment = {}, .launcher = {"--max-failures", "1", "--grace", "20ms"}});
        EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
        EXPECT_EQ(count(ended.out, " done\n"), 3) << ended.out << ended.error;
        EXPECT_TRUE(has(ended.error, "the job goes on, because --max-failures allows 1 failure (1 so far)")) << ended.error;
    }
}

TEST(Survivor, LeavesNoFilesOfTheDead) {
    const std::string name = fmt::format("/rollcall-survivors-test-{}", ::getpid());
    EXPECT_TRUE(is_removed(name, [&](milliseconds time) {
        const Go go;
        Launched job(probe(2, {"shm:" + name + "@1", "barrier", "ready", "await:" + go.path, "kill:9@1", "notice", "leave"},
                           {"--max-failures", "1"}));
        ASSERT_TRUE(job.saw("ready", 2));
        std::this_thread::sleep_for(time);
        go.give();
        EXPECT_EQ(job.finish().code, 0);
    }));
}

}  // namespace
