/// \file
/// Signals to the launcher: how they reach the ranks on all hosts, and signals to its process group, from its terminal, or twice.
#include <sys/mman.h>

#include "tests/process/launcher/launched.hpp"

namespace {

using namespace rollcall::test;

Launched::Given leader_of(Launched::Given::Leads what) {
    Launched::Given given;
    given.leads = what;
    return given;
}

/// The two ends of a terminal.
struct Terminal {
    Terminal() : master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
        if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) throw std::runtime_error("no terminal");
        slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    }
    ~Terminal() {
        ::close(master);
        ::close(slave);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    void type(std::string_view keys) const { EXPECT_EQ(::write(master, keys.data(), keys.size()), static_cast<ssize_t>(keys.size())); }

    int master;
    int slave = -1;
};

TEST(Launcher, NothingRemainsWhenItsProcessGroupIsKilled) {
    Launched job(probe(2, {"orphan", "barrier", "ready", "wait"}), leader_of(Launched::Given::Leads::group));
    ASSERT_TRUE(job.saw("ready", 2));
    ASSERT_EQ(::kill(-job.process(), SIGKILL), 0);
    EXPECT_EQ(job.finish().code, 137);
    EXPECT_TRUE(eventually([&] { return job.left().empty(); }));
}

TEST(Launcher, ItsTerminalIsReadAndMayEndIt) {
    for (const bool killed : {false, true}) {
        const Terminal terminal;
        auto given = leader_of(Launched::Given::Leads::session);
        given.input = terminal.slave;
        Launched job({"-n", "2", "sh", "-c", "setsid sleep 1000 & cat; wait"}, given);
        terminal.type("hello\n");
        ASSERT_TRUE(job.saw("hello"));
        terminal.type("again\n");
        ASSERT_TRUE(job.saw("again"));
        if (killed) {
            ASSERT_EQ(::kill(-job.process(), SIGKILL), 0);
        } else {
            terminal.type("\x03");
        }
        EXPECT_EQ(job.finish().code, 128 + (killed ? SIGKILL : SIGINT));
        EXPECT_TRUE(eventually([&] { return job.left().empty(); }));
    }
}

TEST(Launcher, AStopThatNobodyCouldUndoIsIgnored) {
    for (const auto leads : {Launched::Given::Leads::session, Launched::Given::Leads::group}) {
        // A shell is above the process group here, and it has asked the command to ignore stops.
        if (leads == Launched::Given::Leads::group) ::signal(SIGTSTP, SIG_IGN);
        Launched job({"-n", "1", "sh", "-c", "echo ready; exec sleep 1000"}, leader_of(leads));
        ::signal(SIGTSTP, SIG_DFL);
        ASSERT_TRUE(job.saw("ready"));
        job.signal(SIGTSTP);
        job.signal(SIGTERM);  // a process that has stopped would not take it
        EXPECT_EQ(job.finish().code, 128 + SIGTERM);
    }
}

TEST(Launcher, AMessageThatNobodyReadsDoesNotKeepItFromEndingTheJob) {
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    Launched::Given given;
    given.error = pipe[1];
    // The rank sends SIGPIPE to itself: it must not have inherited that this signal is ignored.
    const std::string rank = "(kill -PIPE $(exec sh -c 'echo $PPID'); echo ignored); setsid sleep 1000 & echo ready; wait";
    Launched job({"-n", "1", "sh", "-c", rank}, given);
    ::close(pipe[1]);
    ASSERT_TRUE(job.saw("ready"));
    ::close(pipe[0]);
    job.signal_guard(SIGKILL);
    const Result result = job.finish();
    EXPECT_EQ(result.code, 128 + SIGKILL);
    EXPECT_EQ(result.out, "ready\n");
    EXPECT_TRUE(job.left().empty());
}

/// With some of these limits the launcher has descriptors for its guard, but not for signals. The guard raises the limit for itself.
TEST(Launcher, ItStartsNoJobThatSignalsCannotEnd) {
    if (kNeedsDescriptors) GTEST_SKIP() << kNeedsDescriptors;
    for (rlim_t files = 3; files <= 10; ++files) {
        Launched::Given given;
        given.soft_files = files;
        Launched job({"-n", "1", "sh", "-c", "echo ready; exec sleep 1000"}, given);
        const bool started = job.saw("ready");
        if (started) job.signal(SIGINT);
        const Result result = job.finish();
        EXPECT_NE(result.code, 0) << "with " << files << " files";
        EXPECT_EQ(result.code == 128 + SIGINT, started) << "with " << files << " files";
    }
}

/// On a busy machine, more time may pass between the two signals than the launcher allows for one request. So there are several attempts.
TEST(Launcher, ASignalThatComesTwiceAtOnceIsOneRequest) {
    const std::string go = fmt::format("{}/rollcall-launcher-test-go-{}", testing::TempDir(), ::getpid());
    bool well = false;
    for (int attempt = 0; attempt < 10 && !well; ++attempt) {
        const std::string at_term = fmt::format("while [ ! -e {} ]; do sleep 0.01; done; echo ended well; exit 0", go);
        Launched job(
            {"-n", "1", "--grace", "1000s", "sh", "-c", fmt::format("trap '{}' TERM; echo ready; while :; do sleep 0.01; done", at_term)});
        ASSERT_TRUE(job.saw("ready"));
        job.signal(SIGTERM);
        ASSERT_TRUE(job.was_told("the launcher got signal"));
        job.signal(SIGTERM);
        std::this_thread::sleep_for(milliseconds(100));  // time for the launcher to kill the rank, if it wanted to
        std::ofstream(go) << "go";
        const Result result = job.finish();
        EXPECT_EQ(result.code, 128 + SIGTERM);
        well = result.out.find("ended well") != std::string::npos;
        ::unlink(go.c_str());
    }
    EXPECT_TRUE(well);
}

TEST(Hosts, AStopFromTheTerminalStopsTheWholeJob) {
    Launched::Given given;
    given.leads = Launched::Given::Leads::group;  // as under a shell, which could continue it
    Launched job(on("a,b", {}, shell("echo ready; while :; do sleep 0.05; done")), given);
    ASSERT_TRUE(job.saw("ready", 2));
    job.signal(SIGTSTP);
    const auto stopped = [&] {
        int shells = 0;
        for (const pid_t process : job.left()) {
            if (contents(fmt::format("/proc/{}/cmdline", process)).find("echo ready") != std::string::npos &&
                contents(fmt::format("/proc/{}/cmdline", process)).starts_with(std::string("sh\0-c\0echo", 10)) &&
                status_of(process).first == 'T') {
                ++shells;
            }
        }
        return shells == 2 && status_of(job.process()).first == 'T';
    };
    EXPECT_TRUE(eventually(stopped));
    job.signal(SIGCONT);
    EXPECT_TRUE(eventually([&] { return !stopped(); }));
    job.signal(SIGINT);
    EXPECT_EQ(job.finish().code, 128 + SIGINT);
}

TEST(Hosts, AStopWhileAgentsStartHoldsTheRanksBack) {
    const std::string base = fmt::format("{}/rollcall-signals-stop-{}", testing::TempDir(), ::getpid());
    const std::string starts = base + "-starts", go = base + "-go";
    const std::string agent =
        fmt::format("sh -c 'if test $0 = b; then mkdir {}; while [ ! -e {} ]; do sleep 0.01; done; fi; exec \"$@\"' {{host}}", starts, go);
    Launched::Given given;
    given.leads = Launched::Given::Leads::group;
    // The time for which the ranks may take to join does not count while they are held back.
    Launched job({"--hosts", "a,b", "--agent", agent, "--launch-timeout", "10s", kProbe, "exchange:10", "ready", "wait"}, given);
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(starts); }));
    job.signal(SIGTSTP);
    EXPECT_TRUE(eventually([&] { return status_of(job.process()).first == 'T'; }));
    std::ofstream(go) << "go";
    const auto ranks = [&] {
        const auto all = job.left();
        return std::count_if(all.begin(), all.end(), [](pid_t one) { return has_entry(one, "ROLLCALL_BOOTSTRAP_SIZE=2"); });
    };
    std::this_thread::sleep_for(milliseconds(500));  // time for the ranks to start, if they were not held back
    EXPECT_EQ(ranks(), 0);
    job.signal(SIGCONT);
    EXPECT_TRUE(job.saw("ready", 2));
    job.signal(SIGINT);
    EXPECT_EQ(job.finish().code, 128 + SIGINT);
    std::filesystem::remove(starts);
    std::filesystem::remove(go);
}

/// As when a laptop or a virtual machine sleeps, or a container is paused. Its processes go on one after the other.
TEST(Hosts, AJobThatDidNotRunForAWhileGoesOn) {
    for (const bool agents_first : {false, true}) {
        Launched job(on("a,b", {"--silence", "2s", "--fanout", "1"}, shell("echo ready; while :; do sleep 0.05; done")));
        ASSERT_TRUE(job.saw("ready", 2));
        auto all = job.left();
        for (const pid_t process : all) ::kill(process, SIGSTOP);
        std::this_thread::sleep_for(milliseconds(2200));
        // The one that goes on first finds that nothing has come for longer than the silence.
        const pid_t guard = job.guard();
        const auto is_of_agent = [&](pid_t process) { return process != job.process() && process != guard; };
        const auto split = std::stable_partition(all.begin(), all.end(), [&](pid_t one) { return is_of_agent(one) == agents_first; });
        std::for_each(all.begin(), split, [](pid_t process) { ::kill(process, SIGCONT); });
        std::this_thread::sleep_for(milliseconds(200));
        std::for_each(split, all.end(), [](pid_t process) { ::kill(process, SIGCONT); });
        std::this_thread::sleep_for(milliseconds(100));  // time for the job to end, if it wanted to
        job.signal(SIGINT);
        const Result result = job.finish();
        EXPECT_EQ(result.code, 128 + SIGINT) << result.error;
        EXPECT_EQ(count(result.error, "nothing was heard"), 0) << result.error;
    }
}

TEST(Hosts, AHostIsLostAlsoIfTheLauncherIsHeldUpAgainAndAgain) {
    Launched job(on("a", {"--silence", "1s"}, shell("echo ready; exec sleep 1000")));
    ASSERT_TRUE(job.saw("ready"));
    const pid_t guard = job.guard();
    ASSERT_GT(guard, 0);
    for (const pid_t process : job.left()) {
        if (process != job.process() && process != guard) ::kill(process, SIGSTOP);
    }
    const auto begin = Clock::now();
    const auto has_ended = [&] { return status_of(job.process()).first == 'Z'; };
    while (!has_ended() && Clock::now() - begin < kLimit) {
        ::kill(guard, SIGSTOP);
        std::this_thread::sleep_for(milliseconds(500));
        ::kill(guard, SIGCONT);
        for (int i = 0; i < 25 && !has_ended(); ++i) std::this_thread::sleep_for(milliseconds(10));
    }
    EXPECT_TRUE(has_ended());
    job.signal(SIGKILL);  // if it has not
    EXPECT_EQ(job.finish().code, 125);
}

TEST(Hosts, SignalsOfTheUserReachTheRanksAndNobodyElse) {
    Launched job(on("a,b", {}, shell("trap 'echo got it; exit 3' USR1; sleep 1000 & echo ready; wait")));
    ASSERT_TRUE(job.saw("ready", 2));
    job.signal(SIGUSR1);
    const Result result = job.finish();
    EXPECT_EQ(result.code, 3);
    EXPECT_GE(count(result.out, "got it"), 1) << result.out;
}

}  // namespace
