/// \file
/// Tests `rollcall run` with real processes: exit codes, output and notices.
#include "tests/process/launcher/launched.hpp"

namespace {

using namespace rollcall::test;

TEST(Launcher, RunsOrdinaryPrograms) {
    const Result result = run({"-n", "3", "echo", "-n", "a", "b"});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.out, "a ba ba b");
    EXPECT_EQ(result.error, "");
}

TEST(Launcher, TheFirstBadExitIsTheJobsCode) {
    EXPECT_EQ(run({"-n", "3", "sh", "-c", "exit 0"}).code, 0);
    const Result coded = run({"-n", "1", "sh", "-c", "exit 7", ":", "-n", "2", "sleep", "1000"});
    EXPECT_EQ(coded.code, 7);
    EXPECT_TRUE(has(coded.error, "rank 0 on host"));
    EXPECT_TRUE(has(coded.error, "exited with code 7"));
    const Result killed = run({"-n", "2", "sleep", "1000", ":", "-n", "1", "sh", "-c", "kill -TERM $$"});
    EXPECT_EQ(killed.code, 128 + SIGTERM);
    EXPECT_TRUE(has(killed.error, "rank 2 on host"));
    EXPECT_TRUE(has(killed.error, "was killed by signal 15 (Terminated)"));
}

TEST(Launcher, WrongUsageIsOneLineAndTwo) {
    const std::vector<std::pair<Words, std::string>> cases = {
        {{}, "program is missing"},
        {{"-n", "2"}, "program is missing"},
        {{"true"}, "-n N is missing"},
        {{"-n", "0", "true"}, "from 1 to"},
        {{"-n", "-3", "true"}, "from 1 to"},
        {{"-n", "2x", "true"}, "'2x'"},
        {{"-n", "99999999999", "true"}, "from 1 to"},
        {{"--foo", "-n", "1", "true"}, "'--foo'"},
        {{"-n", "1", "--fanout", "0", "true"}, "rollcall: run: --fanout takes a number from 1 to 65536, or flat, not '0'"},
        {{"-n", "1", "--bind-to", "chair", "true"}, "rollcall: run: --bind-to takes auto, none, hwthread, core"},
        {{"-n", "1", "--map-by", "chair", "true"}, "rollcall: run: --map-by takes slot, node"},
        {{"-n", "1", "--input", "second", "true"}, "first, all or none"},
        {{"-n", "1", "--fanout", "0", "true"}, "--fanout"},
        {{"-n", "1", "--per-node", "1", "true"}, "needs --hosts"},
        {{"-n", "1", "--stack-traces", "true"}, "--stack-traces needs --timeout"},
        {{"--hosts", "a:0", "true"}, "--hosts"},
        {{"--hosts", "a", "--hostfile", "b", "true"}, "exclude each other"},
        {{"--hostfile", "/nonexistent/hosts", "true"}, "/nonexistent/hosts"},
        {{"--hosts", "a:2", "-n", "3", "true"}, "--oversubscribe"},
        {{"--hosts", "a:2", "--agent", "sh '", "true"}, "not closed"},
        {{"--silence", "99ms", "-n", "1", "true"}, "--silence takes a duration of 100ms or more"},
        {{"-n", "1", "--timeout", "soon", "true"}, "'soon'"},
        {{"-n", "1", "--timeout", "0", "true"}, "--timeout"},
        {{"-np", "3", "true"}, "here it is -n N"},
        {{"-hosts", "a,b", "true"}, "unknown option '-hosts', which other launchers have; here it is --hosts"},
        {{"-n", "1", "-H", "a,b", "true"}, "here it is --hosts A:4,B:4"},
        {{"-n", "1", "true", ":", "-genv", "A", "B"}, "here it is --env NAME=VALUE"},
        {{"-n", "1", "--hosts", "", "true"}, "--hosts: its value is empty"},
        {{"-n", "1", "--timeout", "", "true"}, "--timeout: its value is empty"},
        {{"-n", "1", "-n", "2", "true"}, "is given 2 times"},
        {{"-n", "1", "--env", "ROLLCALL_TEST_UNSET_NAME", "true"}, "'ROLLCALL_TEST_UNSET_NAME' is not set here"},
        {{"-n", "1", "--env", "=x", "true"}, "NAME=VALUE"},
        {{"-n", "1", "true", ":"}, "program is missing"},
        {{"-n", "1", ":", "-n", "1", "true"}, "program is missing"},
        {{"-n", "1", "true", ":", "true"}, "-n N is missing"},
        {{"-n", "1", "true", ":", "--bind", "core", "-n", "1", "true"}, "'--bind'"},
        {{"-n", "1", "true", ":", "-n"}, "after ':'"},
        {{"-n", "40000", "true", ":", "-n", "40000", "true"}, "together"},
    };
    for (const auto& [arguments, part] : cases) {
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 2) << fmt::format("{}", arguments.size());
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(lines_of(result.error).size(), 1u) << result.error;
        EXPECT_TRUE(has(result.error, part));
    }
    const Result unmakeable = run({"-n", "1", "--output-directory", "/proc/self/status/x", "true"});
    EXPECT_EQ(unmakeable.code, 1);
    EXPECT_TRUE(has(unmakeable.error, "rollcall run: --output-directory '/proc/self/status/x' cannot be made: "));
    const Result without_files = run({"-n", "1", "--output-directory", "/proc", "true"});
    EXPECT_EQ(without_files.code, 1);
    EXPECT_TRUE(has(without_files.error, "rollcall run: --output-directory '/proc' takes no files: ")) << without_files.error;
    const Result help = run({"--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_TRUE(has(help.out, "Examples:"));
}

TEST(Launcher, AProgramThatCannotBeStartedIsOneSentence) {
    const std::string none = "cannot start 'rollcall-no-such-program': there is no such program in PATH\n";
    const std::vector<std::pair<Words, std::string>> cases = {
        {{"-n", "4", "rollcall-no-such-program"}, none},
        {{"-n", "1", "./no/such/program"}, "cannot start './no/such/program': No such file or directory\n"},
        {{"-n", "1", "true", ":", "-n", "1", "rollcall-no-such-program"}, none}};
    for (const auto& [arguments, sentence] : cases) {
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 127);
        EXPECT_EQ(lines_of(result.error).size(), 1u) << result.error;
        EXPECT_TRUE(has(result.error, sentence)) << result.error;
    }
    for (const auto& [program, why] : {std::pair{"/etc/passwd", "it is not executable (chmod +x"}, std::pair{"/", "it is a directory"}}) {
        const Result result = run({"-n", "1", program});
        EXPECT_EQ(result.code, 126);
        EXPECT_TRUE(has(result.error, why)) << result.error;
    }
}

TEST(Launcher, TheWordsOfAProgramAreItsOwn) {
    EXPECT_EQ(run({"-n", "1", "printf", "%s|", "-n", "3", "--help", "--", "", "[1,2]", "a b", "{x}"}).out,
              "-n|3|--help|--||[1,2]|a b|{x}|");
    EXPECT_EQ(run({"-n", "1", "--", "printf", "%s|", "--env"}).out, "--env|");
    // A program with the name of another subcommand is still run as a program.
    EXPECT_EQ(run({"-n", "1", "info"}).code, run({"-n", "1", "sh", "-c", "command -v info >/dev/null || exit 127"}).code);
}

TEST(Launcher, SeveralProgramsAreOneJob) {
    const Result result = run({"-n",          "1",
                               "--env",       "A=all",
                               kProbe,        "exchange:10",
                               "ready",       "leave",
                               ":",           "-n",
                               "2",           "--env",
                               "B=one",       kProbe,
                               "exchange:10", "ready",
                               "leave",       ":",
                               "-n1",         "sh",
                               "-c",          "exec " + kProbe + " exchange:10 print:$A$B leave"});
    EXPECT_EQ(result.code, 0) << result.error;
    for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(has(result.out, fmt::format("rank {} of 4", rank)));
    EXPECT_TRUE(has(result.out, "all\n"));
}

TEST(Launcher, SetsTheEnvironmentAndNothingSecret) {
    const Result result = run({"-n", "2", "--tag-output", "--env", "X=1=2", "--env", "Y=", "sh", "-c",
                               "echo \"$X,$Y,$ROLLCALL_BOOTSTRAP_RANK/$ROLLCALL_BOOTSTRAP_SIZE\""});
    EXPECT_EQ(count(result.out, "[0] 1=2,,0/2\n"), 1) << result.out;
    EXPECT_EQ(count(result.out, "[1] 1=2,,1/2\n"), 1) << result.out;
    std::set<std::string> names;
    for (const auto& line : lines_of(run({"-n", "1", "env"}).out)) {
        if (line.starts_with("ROLLCALL_BOOTSTRAP")) names.insert(line.substr(0, line.find('=')));
    }
    EXPECT_EQ(names, (std::set<std::string>{"ROLLCALL_BOOTSTRAP_AROUND", "ROLLCALL_BOOTSTRAP_FD", "ROLLCALL_BOOTSTRAP_JOB",
                                            "ROLLCALL_BOOTSTRAP_RANK", "ROLLCALL_BOOTSTRAP_SIZE"}));
}

TEST(Launcher, BindsRanksToProcessorsInTurn) {
    const std::string allowed = run({"-n", "1", "nproc"}).out;
    const int processors = std::stoi(allowed);
    const Result result = run({"-n", std::to_string(processors + 1), "--bind", "core", "sh", "-c", "taskset -cp $$ | sed 's/.*: //'"});
    std::map<std::string, int> used;
    for (const auto& line : lines_of(result.out)) ++used[line];
    EXPECT_EQ(used.size(), static_cast<std::size_t>(processors)) << result.out;
    for (const auto& [processor, ranks] : used) {
        EXPECT_EQ(processor.find_first_not_of("0123456789"), std::string::npos) << processor;
        EXPECT_LE(ranks, 2);
    }
    EXPECT_EQ(run({"-n", "1", "--bind", "none", "nproc"}).out, allowed);
}

TEST(Launcher, RanksExchangeAndMeet) {
    for (const int ranks : {1, 2, 8}) {
        const Result result =
            run(probe(ranks, {"exchange:0", "exchange:500:20", "exchange:100000:2", "barrier", "barrier", "leave", "ready"}));
        EXPECT_EQ(result.code, 0) << result.out << result.error;
        EXPECT_EQ(count(result.out, fmt::format("of {} pid", ranks)), ranks);
    }
}

TEST(Launcher, LongBlobsFit) {
    const Result result = run(probe(4, {"exchange:1048000", "exchange:1048000", "leave"}));
    EXPECT_EQ(result.code, 0) << result.out << result.error;
}

TEST(Launcher, WhatAProgramStartsIsNoRank) {
    const Result result = run(probe(1, {"again"}));
    EXPECT_EQ(result.out, "again: state\nvariable: gone\n");
    const Result second = run({"-n", "1", "sh", "-c", kProbe + " leave; " + kProbe + " ready"});
    EXPECT_EQ(second.code, 5);
    EXPECT_TRUE(has(second.out, "has already joined"));
    // A wrapper closes the descriptors that it inherits. That must be an error, and not a job of one rank.
    const Result closed = run({"-n", "1", "bash", "-c", "eval \"exec $ROLLCALL_BOOTSTRAP_FD>&-\"; exec " + kProbe + " ready"});
    EXPECT_EQ(closed.code, 5);
    EXPECT_TRUE(has(closed.out, "not open"));
}

TEST(Launcher, AJobWithinAJobIsItsOwn) {
    const Result result = run({"-n", "2", ROLLCALL_COMMAND, "run", "-n", "3", kProbe, "exchange:10", "ready", "leave"});
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(count(result.out, "of 3 pid"), 6);
}

TEST(Launcher, EverySurvivorIsToldWhoWasKilled) {
    Launched job(probe(4, {"barrier", "ready", "wait@2", "notice", "exit:5"}));
    ASSERT_TRUE(job.saw("ready", 4));
    pid_t victim = -1;
    for (const pid_t process : job.left()) {
        if (contents(fmt::format("/proc/{}/environ", process)).find(std::string("ROLLCALL_BOOTSTRAP_RANK=2") + '\0') != std::string::npos) {
            victim = process;
        }
    }
    ASSERT_GT(victim, 0);
    const auto start = Clock::now();
    ::kill(victim, SIGKILL);
    EXPECT_TRUE(job.saw("notice 2: was killed by signal 9 (Killed)", 3));
    // The promise is one second. The test machine may be busy, so this bound fails only when notices are lost.
    RecordProperty("notice_ms", static_cast<int>(std::chrono::duration_cast<milliseconds>(Clock::now() - start).count()));
    const Result result = job.finish();
    EXPECT_EQ(result.code, 128 + SIGKILL);  // Not the survivors' 5.
    EXPECT_EQ(count(result.error, "\n"), 1) << result.error;
    EXPECT_TRUE(has(result.error, "rank 2 on host"));
}

TEST(Launcher, WhoWaitsForADeadRankIsTold) {
    const Result result = run(probe(4, {"barrier", "kill:9@1", "exchange:100"}));
    EXPECT_EQ(result.code, 137);
    EXPECT_EQ(count(result.out, "error peer_failed 1:"), 3) << result.out;
    EXPECT_EQ(count(result.out, "was killed by signal 9 (Killed)"), 3) << result.out;
    EXPECT_EQ(count(result.out, "bootstrap"), 0) << "a word of the implementation: " << result.out;
}

TEST(Launcher, AnEarlyExitIsNewsToThoseWhoWaitAndToTheOthers) {
    const Result waiting = run(probe(3, {"barrier", "exit:0@2", "barrier"}));
    EXPECT_EQ(waiting.code, 5);
    EXPECT_EQ(count(waiting.out, "error peer_failed 2:"), 2) << waiting.out;
    EXPECT_EQ(count(waiting.out, "exited with code 0 before it left the job"), 2) << waiting.out;
    EXPECT_TRUE(has(waiting.error, "rank 2 on host"));

    const Result noticed = run(probe(3, {"barrier", "exit:0@2", "notice", "leave"}));
    EXPECT_EQ(noticed.code, 0) << noticed.error;
    EXPECT_EQ(count(noticed.out, "notice 2: exited with code 0 before it left the job"), 2) << noticed.out;

    const Result never = run({"-n", "1", "true", ":", "-n", "2", kProbe, "exchange:10"});
    EXPECT_EQ(never.code, 5);
    EXPECT_EQ(count(never.out, "exited with code 0 before it joined the job"), 2) << never.out;

    // Who joins later is told, too.
    const std::string file = fmt::format("{}/rollcall-launcher-early-{}", testing::TempDir(), ::getpid());
    const std::string waits =
        fmt::format("while [ ! -s {0} ] || [ -e /proc/$(cat {0}) ]; do sleep 0.01; done; exec {1} notice leave", file, kProbe);
    const Result later = run({"-n", "1", "sh", "-c", fmt::format("echo $$ > {}", file), ":", "-n", "2", "sh", "-c", waits});
    std::filesystem::remove(file);
    EXPECT_EQ(later.code, 0) << later.error;
    EXPECT_EQ(count(later.out, "notice 0: exited with code 0 before it joined the job"), 2) << later.out;

    const Result left = run(probe(3, {"leave@0", "exit:0@0", "exchange:10"}));
    EXPECT_EQ(left.code, 5);
    EXPECT_EQ(count(left.out, "has left the job"), 2) << left.out;

    const Result closed = run(probe(3, {"barrier", "close@0", "wait@0", "barrier"}, {"--grace", "100ms"}));
    EXPECT_EQ(closed.code, 5);
    EXPECT_EQ(count(closed.out, "closed its connection to the launcher before it left the job"), 2) << closed.out;
}

TEST(Launcher, DifferentCallsAreToldToAll) {
    const Result result = run(probe(3, {"barrier", "exchange:4@1", "barrier@!1"}));
    EXPECT_EQ(result.code, 5);
    EXPECT_EQ(count(result.out, "error mismatch"), 3) << result.out;
}

TEST(Launcher, NoiseOnTheSocketEndsOnlyThatRanksConnection) {
    const Result result = run(probe(2, {"barrier", "garbage@0", "barrier"}));
    EXPECT_EQ(result.code, 5);
    EXPECT_TRUE(has(result.error, "not Rollcall's protocol")) << result.error;
    EXPECT_EQ(count(result.out, "error "), 2) << result.out;
}

TEST(Launcher, AbortEndsTheJobWithItsCodeAndSaysWhy) {
    const Result result = run(probe(3, {"barrier", "abort:42:out of luck@1", "wait"}));
    EXPECT_EQ(result.code, 42);
    EXPECT_TRUE(has(result.error, "rank 1 on host"));
    EXPECT_TRUE(has(result.error, "out of luck"));
    // The code stays, though the aborting rank exits with another code at once.
    EXPECT_EQ(run(probe(2, {"barrier", "abort:43:so@0", "exit:1@0", "wait"})).code, 43);
}

TEST(Launcher, OutputArrivesByteForByteAndLineByLine) {
    constexpr int kRanks = 4;
    constexpr std::size_t kBytes = 4'000'000;
    const Result result = run(probe(kRanks, {fmt::format("spam:{}", kBytes)}));
    EXPECT_EQ(result.code, 0);
    std::map<std::string, int> seen;
    for (const auto& line : lines_of(result.out)) ++seen[line];
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(kRanks));
    for (const auto& [line, times] : seen) {
        EXPECT_EQ(line.size(), 97u) << line;
        EXPECT_EQ(times, seen.begin()->second);
    }
    EXPECT_GE(result.out.size(), kRanks * kBytes);

    const std::string binary = "head -c 3000000 /dev/zero | tr '\\0' '\\377'; printf 'end'";
    const Result bytes = run({"-n", "1", "sh", "-c", binary});
    EXPECT_EQ(bytes.out, std::string(3000000, '\377') + "end");
}

TEST(Launcher, TagsBeginEveryLine) {
    const Result result = run({"-n", "3", "--tag-output", "sh", "-c", "echo a; echo; echo b >&2; printf c"});
    EXPECT_EQ(result.code, 0);
    for (int rank = 0; rank < 3; ++rank) {
        EXPECT_TRUE(has(result.out, fmt::format("[{}] a\n", rank)));
        EXPECT_TRUE(has(result.out, fmt::format("[{}] \n", rank)));
        EXPECT_TRUE(has(result.out, fmt::format("[{}] c", rank)));
        EXPECT_TRUE(has(result.error, fmt::format("[{}] b\n", rank)));
    }
    for (const auto& line : lines_of(result.out)) EXPECT_TRUE(line.starts_with("[")) << line;
}

TEST(Launcher, AnUnfinishedLineIsShownAfterAMoment) {
    const std::string file = fmt::format("{}/rollcall-launcher-test-go-{}", testing::TempDir(), ::getpid());
    Launched job(probe(2, {"part:prompt", "await:" + file}));
    EXPECT_TRUE(job.saw("promptprompt"));  // While both still run.
    EXPECT_GE(job.left().size(), 4u);
    std::ofstream(file) << "go";
    EXPECT_EQ(job.finish().code, 0);
    ::unlink(file.c_str());
}

TEST(Launcher, AReaderThatIsGoneEndsTheWriters) {
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    Launched::Given given;
    given.output = pipe[1];
    Launched job({"-n", "3", "yes"}, given);
    ::close(pipe[1]);
    char chunk[100];
    EXPECT_GT(::read(pipe[0], chunk, sizeof chunk), 0);
    ::close(pipe[0]);
    EXPECT_EQ(job.finish().code, 128 + SIGPIPE);

    Launched::Given closed;
    closed.closed_output = true;
    EXPECT_EQ(Launched({"-n", "2", "echo", "x"}, closed).finish().code, 0);
}

TEST(Launcher, OutputThatNobodyTakesHoldsTheRanksAndNotMemory) {
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    Launched::Given given;
    given.output = pipe[1];
    Launched job(probe(2, {"barrier", "notice@1", "spam:200000000@0", "kill:9@0"}), given);
    ::close(pipe[1]);
    const pid_t guard = job.guard();
    const auto kilobytes = [&] {
        std::istringstream status(contents(fmt::format("/proc/{}/status", guard)));
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("RssAnon:")) return std::stol(line.substr(8));
        }
        return 0L;
    };
    // The rank blocks when its pipe is full: it sleeps in a write and stays there.
    long most = 0;
    for (int i = 0; i < 100; ++i) {
        most = std::max(most, kilobytes());
        std::this_thread::sleep_for(milliseconds(5));
    }
    EXPECT_GT(most, 0) << "its memory could not be read";
    // The full output would be 200 MB. This number also includes the sanitizers' own memory, about 100 MB.
    EXPECT_LT(most, rollcall::test::kSlower > 1 ? 150'000 : 100'000);
    // Deaths are noticed nevertheless.
    std::size_t total = 0;
    char chunk[65536];
    for (ssize_t bytes; (bytes = ::read(pipe[0], chunk, sizeof chunk)) > 0;) total += static_cast<std::size_t>(bytes);
    EXPECT_GE(total, 200'000'000u);
    ::close(pipe[0]);
    EXPECT_EQ(job.finish().code, 137);
}

TEST(Launcher, StandardInputGoesToRankZero) {
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    Launched::Given given;
    given.input = pipe[0];
    Launched job({"-n", "3", "--tag-output", "cat"}, given);
    ::close(pipe[0]);
    ASSERT_EQ(::write(pipe[1], "hello\nyou\n", 10), 10);
    EXPECT_TRUE(job.saw("[0] you"));
    ::close(pipe[1]);
    const Result result = job.finish();
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.out, "[0] hello\n[0] you\n");
}

TEST(Launcher, ProgramsStartInTheDirectoryAndFilesStayHere) {
    const auto base = std::filesystem::canonical(testing::TempDir()) / fmt::format("rollcall-launcher-directory-{}", ::getpid());
    std::filesystem::create_directories(base / "work");
    const auto work = std::filesystem::relative(base / "work");
    const auto files = std::filesystem::relative(base / "files");
    ASSERT_TRUE(files.is_relative());
    const Result result = run({"-n", "2", "--directory", work.string(), "--output-directory", files.string(), "pwd", "-P"});
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(contents((base / "files/rank.1.out").string()), (base / "work").string() + "\n");
    const Result missing = run({"-n", "1", "--directory", (base / "nowhere").string(), "true"});
    EXPECT_EQ(missing.code, 1);
    EXPECT_TRUE(has(missing.error, "has no directory"));
    std::filesystem::remove_all(base);
}

TEST(Launcher, ManyRanks) {
    const Result result = run(probe(100, {"exchange:500", "barrier", "leave"}));
    EXPECT_EQ(result.code, 0) << result.out << result.error;
}

}  // namespace
