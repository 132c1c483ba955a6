/// \file
/// How a job of `rollcall run` ends. Nothing may remain, whatever dies.
#include <sys/ptrace.h>

#include "tests/process/launcher/launched.hpp"

namespace {

using namespace rollcall::test;

TEST(Launcher, TheTimeLimitEndsTheJob) {
    const Result result = run({"-n", "2", "--timeout", "200ms", "sleep", "1000"});
    EXPECT_EQ(result.code, 124);
    EXPECT_EQ(lines_of(result.error).size(), 1u) << result.error;
    EXPECT_TRUE(has(result.error, "200ms"));
    // A rank that ignores the request to end is killed.
    EXPECT_EQ(run({"-n", "2", "--timeout", "200ms", "--grace", "100ms", "sh", "-c", "trap '' TERM; while :; do sleep 1000; done"}).code,
              124);
    // So is a rank that is stopped.
    EXPECT_EQ(run({"-n", "1", "--timeout", "200ms", "--grace", "100ms", "sh", "-c", "kill -STOP $$"}).code, 124);
    EXPECT_EQ(run({"-n", "2", "--timeout", "60s", "true"}).code, 0);
    // The message gives the limit as it was written on the command line.
    EXPECT_TRUE(has(run({"-n", "1", "--timeout", "1ns", "sleep", "1000"}).error, "within its time limit of 1ns"));
}

TEST(Launcher, SignalsEndTheJob) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        Launched job(probe(3, {"orphan@1", "barrier", "ready", "wait"}));
        ASSERT_TRUE(job.saw("ready", 3));
        job.signal(signal);
        const Result result = job.finish();
        EXPECT_EQ(result.code, 128 + signal);
        EXPECT_EQ(result.signal, signal == SIGINT ? SIGINT : 0);
        EXPECT_TRUE(has(result.error, "the launcher got signal"));
        EXPECT_TRUE(job.left().empty());
    }
    EXPECT_EQ(run({"-n", "1", "sh", "-c", "kill -INT $$"}).signal, 0) << "a signal to a rank is none to the command";
}

TEST(Launcher, ASecondSignalKillsAtOnce) {
    Launched job({"-n", "2", "--grace", "1000s", "sh", "-c", "trap '' INT TERM; echo ready; while :; do sleep 1000; done"});
    ASSERT_TRUE(job.saw("ready", 2));
    job.signal(SIGINT);
    // The signals must not all merge with the first one. So it is sent repeatedly until the job ends.
    EXPECT_TRUE(eventually([&] {
        job.signal(SIGINT);
        return status_of(job.process()).first == 'Z';
    }));
    EXPECT_EQ(job.finish().code, 128 + SIGINT);
}

TEST(Launcher, SignalsThatNeverStopDoNotKeepTheJobFromEnding) {
    Launched job({"-n", "2", "--grace", "1000s", "sh", "-c", "trap '' INT TERM; echo ready; while :; do sleep 1000; done"});
    ASSERT_TRUE(job.saw("ready", 2));
    bool ended = false;
    for (const auto deadline = Clock::now() + std::chrono::seconds(20); !ended && Clock::now() < deadline;) {
        for (int i = 0; i < 100; ++i) job.signal(SIGINT);
        ended = status_of(job.process()).first == 'Z';
    }
    EXPECT_TRUE(ended);
    EXPECT_EQ(job.finish().code, 128 + SIGINT);
}

TEST(Launcher, SurvivorsThatDoNotReportAreEndedAfterTheirGrace) {
    const auto start = Clock::now();
    const Result result = run(probe(3, {"barrier", "exit:3@0", "wait"}, {"--grace", "100ms"}));
    EXPECT_EQ(result.code, 3);
    EXPECT_GE(Clock::now() - start, milliseconds(100));
}

TEST(Launcher, ADeathUnderAWrapperThatLivesOnIsTold) {
    // Ranks 1 and 2 run in shells that go on. Rank 1 leaves, and that is no loss. Rank 2 dies after it.
    const std::string left = fmt::format("{}/rollcall-left-{}", testing::TempDir(), ::getpid());
    const std::string script = fmt::format(
        "case $ROLLCALL_BOOTSTRAP_RANK in 0) exec {0} barrier notice leave;; 1) {0} barrier leave; : > {1};; "
        "2) {0} barrier await:{1} kill:9;; esac; exec sleep 1000",
        kProbe, left);
    Launched job({"-n", "3", "sh", "-c", script});
    EXPECT_TRUE(job.saw("rank 0 notice 2: closed its connection to the launcher before it left the job"));
    EXPECT_FALSE(has(job.so_far().out, "notice 1"));
    job.signal(SIGTERM);
    EXPECT_EQ(job.finish().code, 128 + SIGTERM);
    std::filesystem::remove(left);
}

TEST(Launcher, WhyARankWentIsToldIfItHasSaidSo) {
    const Result ended = run(probe(3, {"barrier", "farewell:went for a test@2", "exit:0@2", "notice", "leave"}));
    EXPECT_EQ(ended.code, 0) << ended.error;
    EXPECT_EQ(count(ended.out, "notice 2: went for a test\n"), 2) << ended.out;
    const Result lives_on = run(probe(3, {"barrier", "farewell:went for a test@0", "close@0", "wait@0", "barrier"}, {"--grace", "100ms"}));
    EXPECT_EQ(lives_on.code, 5);
    EXPECT_EQ(count(lives_on.out, "went for a test"), 2) << lives_on.out;
}

TEST(Launcher, NothingRemainsWhenTheCommandIsKilled) {
    const std::string name = fmt::format("/rollcall-launcher-test-{}", ::getpid());
    EXPECT_TRUE(is_removed(name, [&](milliseconds time) {
        Launched job(probe(3, {"orphan", "shm:" + name + "@1", "barrier", "ready", "wait"}));
        ASSERT_TRUE(job.saw("ready", 3));
        EXPECT_TRUE(eventually([&] { return job.left().size() >= 8; }));  // Command, guard, ranks, orphans.
        std::this_thread::sleep_for(time);
        job.signal(SIGKILL);
        EXPECT_EQ(job.finish().code, 137);
        EXPECT_TRUE(eventually([&] { return job.left().empty(); }));  // the guard, too, which removes the file
    }));
}

TEST(Launcher, NothingRemainsWhenTheGuardIsKilled) {
    const std::string name = fmt::format("/rollcall-launcher-test-{}", ::getpid());
    EXPECT_TRUE(is_removed(name, [&](milliseconds time) {
        Launched job(probe(3, {"orphan", "shm:" + name + "@1", "barrier", "ready", "wait"}));
        ASSERT_TRUE(job.saw("ready", 3));
        std::this_thread::sleep_for(time);
        job.signal_guard(SIGKILL);
        const Result result = job.finish();
        EXPECT_EQ(result.code, 137);
        EXPECT_TRUE(has(result.error, "guard"));
        EXPECT_TRUE(job.left().empty());  // Before the command has returned.
    }));
}

TEST(Launcher, AGuardThatIsStoppedDoesNotHoldTheJob) {
    Launched job({"-n", "2", "--silence", "300ms", "sh", "-c", "echo ready; exec sleep 1000"});
    ASSERT_TRUE(job.saw("ready", 2));
    job.signal_guard(SIGSTOP);
    const Result result = job.finish();
    EXPECT_EQ(result.code, 137);
    EXPECT_TRUE(has(result.error, "guard process was stopped for 300ms"));
    EXPECT_TRUE(job.left().empty());
}

TEST(Launcher, ASignalReachesAGuardThatIsStopped) {
    Launched job({"-n", "2", "--silence", "1000s", "sh", "-c", "echo ready; exec sleep 1000"});
    ASSERT_TRUE(job.saw("ready", 2));
    job.signal_guard(SIGSTOP);
    // Repeatedly: the command may not have seen yet that it is stopped.
    EXPECT_TRUE(eventually([&] {
        job.signal(SIGTERM);
        return status_of(job.process()).first == 'Z';
    }));
    EXPECT_EQ(job.finish().code, 128 + SIGTERM);
    EXPECT_TRUE(job.left().empty());
}

TEST(Launcher, TheTimeLimitReachesAGuardThatIsStopped) {
    Launched job({"-n", "2", "--silence", "1000s", "--timeout", "500ms", "sh", "-c", "echo ready; exec sleep 1000"});
    // On a busy machine the time may be over before the guard is found. The job then ends in the same way.
    if (const pid_t guard = job.saw("ready", 2) ? job.guard() : -1; guard > 0) ::kill(guard, SIGSTOP);
    const Result result = job.finish();
    EXPECT_EQ(result.code, 124);
    EXPECT_TRUE(has(result.error, "time limit of 500ms"));
    EXPECT_TRUE(job.left().empty());
}

/// UCX creates its file, fills it and unlinks it, and libfabric's file has a name until the job starts. A process that dies in between no
/// longer has the file open when the launcher looks for it.
TEST(Launcher, FilesOfTransportsAreRemovedWhoseProcessDiedWhileItMadeThem) {
    for (const char* const name : {"ucx_shm_posix_launcher_test_{}", "{}:77777:0"}) {
        const std::string file = "/dev/shm/" + fmt::format(fmt::runtime(name), ::getpid());
        EXPECT_EQ(run({"-n", "1", "sh", "-c", fmt::format("echo x > {}; kill -KILL $$", file)}).code, 137);
        EXPECT_NE(::access(file.c_str(), F_OK), 0) << file;
        ::unlink(file.c_str());
    }
    // A rank may also leave with success, and the job goes on without it. The number in the name of its file says that it is the job's. A
    // job of another test that fails at the same time may remove the other file, so there are several attempts.
    const std::string others = fmt::format("/dev/shm/{}:77777:0", ::getpid());
    bool stays = false;
    for (int attempt = 0; attempt < 10 && !stays; ++attempt) {
        std::ofstream(others) << "x";
        const Result well = run({"-n", "1", "sh", "-c", "echo x > /dev/shm/$$:77777:0; echo its $$"});
        EXPECT_EQ(well.code, 0) << well.error;
        const std::string its = "/dev/shm/" + well.out.substr(4, well.out.find('\n') - 4) + ":77777:0";
        EXPECT_NE(::access(its.c_str(), F_OK), 0) << its;
        stays = ::unlink(others.c_str()) == 0;
    }
    EXPECT_TRUE(stays) << "it is not the job's";

    const auto before = shared_memory();
    EXPECT_EQ(run({"-n", "2", "sh", "-c", fmt::format("ulimit -f 0; exec {} typed", ROLLCALL_TEST_RANKS)}).code, 128 + SIGXFSZ);
    // UCX's other jobs make such files, too, and unlink them at once.
    for (const auto& name : shared_memory()) {
        if (before.contains(name) || !name.starts_with("ucx_")) continue;
        EXPECT_TRUE(eventually([&] { return ::access(("/dev/shm/" + name).c_str(), F_OK) != 0; })) << name;
    }
}

TEST(Launcher, AnAbortsReasonCannotMoveTheCursor) {
    const Result result = run(probe(2, {"barrier", "abort:6:a\x1b[2Jb\rc\nd@1", "wait"}));
    EXPECT_EQ(result.code, 6);
    EXPECT_TRUE(has(result.error, "with code 6: a\\x1b[2Jb\\x0dc\\x0ad\n")) << result.error;
}

TEST(Launcher, NothingRemainsAtAnyEnd) {
    const std::vector<std::pair<Words, int>> ends = {{{"orphan", "barrier", "leave"}, 0},
                                                     {{"orphan", "barrier", "exit:4@1", "wait"}, 4},
                                                     {{"orphan", "barrier", "kill:10@0", "notice"}, 138},
                                                     {{"orphan", "barrier", "abort:6:x@2", "wait"}, 6}};
    for (const auto& [steps, code] : ends) {
        Launched job(probe(3, steps, {"--grace", "100ms"}));
        EXPECT_EQ(job.finish().code, code);
        EXPECT_TRUE(job.left().empty());
    }
}

TEST(Launcher, OnlyTheJobsOwnSharedMemoryIsRemoved) {
    const std::string ours = fmt::format("/rollcall-launcher-test-ours-{}", ::getpid());
    const std::string others = fmt::format("/dev/shm/rollcall-launcher-test-others-{}", ::getpid());
    const std::string go = fmt::format("{}/rollcall-launcher-test-go-{}", testing::TempDir(), ::getpid());
    EXPECT_TRUE(is_removed(ours, [&](milliseconds time) {
        ::unlink(go.c_str());
        Launched job(probe(2, {"shm:" + ours + "@0", "barrier", "ready", "await:" + go, "kill:9@0", "wait"}, {"--grace", "100ms"}));
        ASSERT_TRUE(job.saw("ready", 2));
        std::ofstream(others) << "not the job's";
        std::this_thread::sleep_for(time);
        std::ofstream(go) << "go";
        EXPECT_EQ(job.finish().code, 137);
        EXPECT_EQ(contents(others), "not the job's");
        ::unlink(others.c_str());
    }));

    // A job that ends well leaves its files on purpose.
    EXPECT_EQ(run(probe(1, {"shm:" + ours})).code, 0);
    EXPECT_TRUE(shared_memory().contains(ours.substr(1)));
    ::unlink(("/dev/shm" + ours).c_str());
    ::unlink(go.c_str());
}

/// The limit is reached when some ranks already run. They are ended, and so is the job.
TEST(Launcher, RanksThatCannotBeStartedEndTheJob) {
    if (kNeedsDescriptors) GTEST_SKIP() << kNeedsDescriptors;
    Launched::Given given;
    given.hard_files = 60;
    Launched job({"-n", "20", "sleep", "1000"}, given);
    const Result result = job.finish();
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(lines_of(result.error).size(), 1u) << result.error;
    EXPECT_TRUE(has(result.error, "could not be started"));
    EXPECT_TRUE(has(result.error, "(ulimit -n): the launcher takes 26, and four for each rank")) << result.error;
    EXPECT_TRUE(job.left().empty());
}

/// A process that a debugger holds dies of SIGKILL, but no other process sees that. It looks like one that hangs in the kernel.
TEST(Launcher, ARankThatCannotBeEndedIsNamed) {
    Launched job({"-n", "1", "--grace", "100ms", "sh", "-c", "echo $$; exec sleep 1000"});
    ASSERT_TRUE(job.saw("\n"));
    const pid_t rank = std::stoi(job.so_far().out);
    if (::ptrace(PTRACE_SEIZE, rank, nullptr, nullptr) != 0) {
        job.signal(SIGTERM);
        job.finish();
        GTEST_SKIP() << "a process may not be traced here";
    }
    job.signal(SIGTERM);
    EXPECT_TRUE(job.was_told("rank 0 on host"));
    EXPECT_TRUE(has(job.so_far().error, "cannot be ended"));
    int status = 0;  // It stopped for SIGTERM first.
    while (::waitpid(rank, &status, __WALL) == rank && WIFSTOPPED(status)) {
    }
    EXPECT_EQ(job.finish().code, 128 + SIGTERM);
}

TEST(Launcher, ADebuggerThatHangsIsEndedWithTheRank) {
    const std::string held = fmt::format("{}/rollcall-launcher-test-held-{}", testing::TempDir(), ::getpid());
    const FirstInPath gdb("gdb", fmt::format("exec {} hold:$2:{}", kProbe, held));
    Launched job({"-n", "1", "--timeout", "100ms", "--stack-traces", "--grace", "100ms", "sleep", "1000"});
    ASSERT_TRUE(eventually([&] { return ::access(held.c_str(), F_OK) == 0; }));
    const bool refused = contents(held) == "refused";
    ::unlink(held.c_str());
    job.signal(SIGTERM);  // This cuts the grace time of 20 s short.
    const Result result = job.finish();
    EXPECT_EQ(result.code, 124);
    EXPECT_TRUE(has(result.error, "where its ranks are:"));
    EXPECT_EQ(count(result.error, "cannot be ended"), 0) << result.error;
    if (refused) GTEST_SKIP() << "a process may not be traced here";
}

TEST(Launcher, StackTracesAreWritten) {
    const FirstInPath gdb("gdb", "echo \"#0 in a function of $2\"; echo what nobody needs; echo \"#1 $(grep SigIgn /proc/self/status)\"");
    const Result result = run({"-n", "2", "--timeout", "100ms", "--stack-traces", "sleep", "1000"});
    EXPECT_EQ(result.code, 124);
    EXPECT_TRUE(has(result.error, "--- rank 1, process "));
    EXPECT_EQ(count(result.error, "#0 in a function of "), 2) << result.error;
    EXPECT_EQ(count(result.error, "nobody needs"), 0) << result.error;
    // What the launcher ignores itself must be able to end gdb.
    const auto mask = result.error.find("#1 SigIgn:");
    ASSERT_NE(mask, std::string::npos) << result.error;
    EXPECT_EQ(std::stoull(result.error.substr(mask + 10), nullptr, 16) >> (SIGTERM - 1) & 1, 0u) << result.error;
}

/// The command adopts processes that its guard has not started if it is the first process of a container, and also these.
TEST(Launcher, WhatItAdoptsIsReapedBeforeTheJobEnds) {
    const std::string base = fmt::format("{}/rollcall-launcher-adopts-{}-", testing::TempDir(), ::getpid());
    const auto touch = [&](const char* name) { std::ofstream(base + name) << "x"; };
    const auto until = [&](const char* name) { return fmt::format("while [ ! -e {}{} ]; do sleep 0.01; done", base, name); };
    const std::string parent =
        fmt::format("{}; for i in 1 2 3; do sleep 0.3 & echo $! >> {}orphans; done; touch {}made", until("go"), base, base);
    const std::string script = fmt::format("({}) & exec {} run -n 1 sh -c 'touch {}ready; {}'", parent, kCommand, base, until("end"));
    const pid_t command = ::fork();
    if (command == 0) {
        ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
        ::_exit(99);
    }
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(base + "ready"); }));
    touch("go");
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(base + "made"); }));
    const Words orphans = lines_of(contents(base + "orphans"));
    EXPECT_EQ(orphans.size(), 3u);
    for (const std::string& orphan : orphans) {
        EXPECT_TRUE(eventually([&] { return status_of(std::stoi(orphan)).first == '\0'; })) << status_of(std::stoi(orphan)).first;
    }
    touch("end");
    int status = -1;
    EXPECT_EQ(::waitpid(command, &status, 0), command);
    EXPECT_EQ(status, 0);
    for (const char* const name : {"ready", "go", "made", "orphans", "end"}) std::filesystem::remove(base + name);
}

}  // namespace
