/// \file
/// Options of `rollcall run` that print more or start fewer ranks, and programs that cannot be started.
#include <sched.h>

#include <cstdio>

#include "tests/process/launcher/launched.hpp"

namespace {

using namespace rollcall::test;

/// The file is found, but the kernel refuses to execute it. A shell would take each of these files for a script.
TEST(Launcher, WhatTheKernelDoesNotExecuteIsNotGivenToAShell) {
    const std::string path = fmt::format("{}/rollcall-launcher-test-{}", testing::TempDir(), ::getpid());
    std::string other(128, '\0');  // A program for a PDP-11.
    other.replace(0, 4, "\177ELF");
    other[4] = 2;
    other[5] = other[6] = 1;
    other[16] = 2;
    other[18] = 65;
    for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
             {"#!/no/such/interpreter -x\n", "the interpreter '/no/such/interpreter', which is not there"},
             {"#!/bin/sh\r\necho hello\r\n", "the interpreter '/bin/sh\\x0d', which is not there"},
             {"echo hello\n", "neither a program of this system nor a script whose first line begins with #!"},
             {other, "it is a program for another processor (number 65 of ELF), and this host is "},
             {"", "the file is empty"}}) {
        std::ofstream(path) << text;
        ::chmod(path.c_str(), 0755);
        const Result result = run({"-n", "2", path});
        EXPECT_EQ(result.code, 126) << why;
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(lines_of(result.error).size(), 1u) << result.error;
        EXPECT_TRUE(has(result.error, "could not start")) << result.error;
        EXPECT_TRUE(has(result.error, why)) << result.error;
    }
    ::unlink(path.c_str());
}

TEST(Launcher, ADryRunSaysWhatWouldBeStarted) {
    const Result result = run({"--hosts", "a:2,b:1", "--agent", "no-such-shell -x {host}", "--command", "/opt/rollcall", "--dry-run", "-n",
                               "2", "no-such-program", "a b", ":", "-n", "1", "other"});
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(result.out,
              "3 ranks on 2 hosts\na  ranks 0-1\nb  rank 2\nranks 0-1: no-such-program 'a b'\nranks 2: other\n"
              "host a by: no-such-shell -x a /opt/rollcall agent\nhost b by: no-such-shell -x b /opt/rollcall agent\n");
    EXPECT_TRUE(has(run({"--dry-run", "-n", "1", "--bind-to", "core", "true"}).out, "core "));
    EXPECT_TRUE(has(run({"--hosts", "a:1", "--agent", "no-such-shell 'x y'", "--command", "/opt/rollcall", "--dry-run", "true"}).out,
                    "host a by: no-such-shell 'x y' a /opt/rollcall agent\n"));
}

TEST(Launcher, AMisspeltOptionIsRefusedWithTheOneThatWasMeant) {
    const Result result = run({"-n", "1", "--bind-too", "core", "true"});
    EXPECT_EQ(result.code, 2);
    EXPECT_TRUE(has(result.error, "unknown option '--bind-too' (did you mean --bind-to?); allowed: -n N")) << result.error;
}

TEST(Launcher, AnOptionOfAnotherLauncherIsRefusedWithOurs) {
    // -n would take the rest of these words as its value.
    for (const auto& [theirs, ours] : {std::pair("-np", "-n N"), std::pair("-npernode", "--per-node N")}) {
        const Result result = run({"--hosts", "a:2", theirs, "2", "true"});
        EXPECT_EQ(result.code, 2);
        EXPECT_EQ(result.error,
                  fmt::format("rollcall: run: unknown option '{}', which other launchers have; here it is {}\n", theirs, ours));
    }
    // Open MPI takes it for the number of processes, and srun for the processors of each of them.
    const Result result = run({"-c", "4", "true"});
    EXPECT_EQ(result.code, 2);
    EXPECT_FALSE(has(result.error, "here it is -n N")) << result.error;
}

TEST(Launcher, AVariableIsPassedOnByItsName) {
    ::setenv("ROLLCALL_TEST_NAMED", "of a = value", 1);
    EXPECT_EQ(run({"-n", "1", "--env", "ROLLCALL_TEST_NAMED", "sh", "-c", "echo $ROLLCALL_TEST_NAMED"}).out, "of a = value\n");
    const Result result = run({"--hosts", "a:1", "--agent", "env -u ROLLCALL_TEST_NAMED sh -c '\"$@\"' {host}", "--env",
                               "ROLLCALL_TEST_NAMED", "sh", "-c", "echo $ROLLCALL_TEST_NAMED"});
    ::unsetenv("ROLLCALL_TEST_NAMED");
    EXPECT_EQ(result.out, "of a = value\n") << result.error;
}

TEST(Launcher, LinesOfOutputBeginWithTheTime) {
    for (const bool tag : {false, true}) {
        Words words{"-n", "1", "--timestamp-output", "sh", "-c", "echo one; echo two"};
        if (tag) words.insert(words.begin() + 2, "--tag-output");
        const Words lines = lines_of(run(words).out);
        ASSERT_EQ(lines.size(), 2u);
        int hour = -1, minute = -1, second = -1, millisecond = -1, length = 0;
        EXPECT_EQ(std::sscanf(lines[0].c_str(), "%2d:%2d:%2d.%3d %n", &hour, &minute, &second, &millisecond, &length), 4) << lines[0];
        EXPECT_EQ(lines[1].substr(static_cast<std::size_t>(length)), tag ? "[0] two" : "two");
    }
}

TEST(Launcher, MoreRanksThanCoresToBindToIsSaid) {
    cpu_set_t mine;
    ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
    const int processors = CPU_COUNT(&mine);
    const Result bound = run({"-n", std::to_string(processors + 1), "--bind-to", "hwthread", "true"});
    EXPECT_EQ(bound.code, 0);
    EXPECT_TRUE(has(bound.error, fmt::format("for {} ranks, which share them", processors + 1))) << bound.error;
    EXPECT_EQ(run({"-n", std::to_string(processors), "--bind-to", "hwthread", "true"}).error, "");
}

}  // namespace
