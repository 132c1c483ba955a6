/// \file
/// What `rollcall bench` says if there is not enough memory.
#include <string>

#include <gtest/gtest.h>

#include "tests/process/bench/bench_command.hpp"

namespace rollcall::test {
namespace {

// 256 TiB are more than a process can have on any machine with 48-bit addresses, however much it may promise.
TEST_F(BenchCommand, ASizeThatNoMemoryHoldsIsNamedWithItsOption) {
    if (kSanitized) GTEST_SKIP() << "the sanitizer ends a process that asks for so much";
    for (const char* words : {"bench broadcast --ranks 1 --bytes 256Ti", "bench bandwidth --ranks 2 --bytes 256Ti"}) {
        const Ended ended = run(words);
        EXPECT_EQ(ended.code, 1) << ended.error;
        EXPECT_NE(ended.error.find("there is not enough memory for --bytes 256Ti: give smaller sizes or fewer ranks"), std::string::npos)
            << words << ": " << ended.error;
    }
}

TEST_F(BenchCommand, WhatWasMeasuredBeforeAFailureIsPrinted) {
    if (kSanitized) GTEST_SKIP() << "the sanitizer ends a process that asks for so much";
    const auto raw = directory_ / "raw.csv";
    const Ended ended = run("bench broadcast --ranks 1 --bytes 8,1Ki,256Ti --algorithm linear --iterations 2 --raw " + raw.string());
    EXPECT_EQ(ended.code, 1) << ended.error;
    for (const char* row : {"linear     8 ", "linear     1Ki "}) EXPECT_NE(ended.out.find(row), std::string::npos) << ended.out;
    EXPECT_EQ(lines_of(contents(raw)).size(), 1u + 2 * 2);
    // Each pattern has its own performance ratio, so rows wait for those of the other patterns, but not for the next size.
    const Ended live =
        run("bench broadcast --ranks 1 --bytes 8,1Ki,256Ti --arrival balanced,root_late:1us --algorithm linear "
            "--iterations 2 --format csv");
    EXPECT_EQ(live.code, 1) << live.error;
    EXPECT_EQ(lines_of(live.out).size(), 1u + 2 * 2) << live.out;
    const Ended csv = run("bench gather --ranks 1 --bytes 8,256Ti --algorithm linear --iterations 2 --format csv");
    EXPECT_EQ(csv.code, 1) << csv.error;
    EXPECT_EQ(lines_of(csv.out).size(), 2u) << csv.out;
}

TEST_F(BenchCommand, SizesThatNoMemoryHoldsAreSaid) {
    const Ended ended = run("bench broadcast --ranks 1 --bytes 9000000Ti");
    EXPECT_EQ(ended.code, 2);
    EXPECT_NE(ended.error.find("a size is larger than any memory"), std::string::npos) << ended.error;
    EXPECT_EQ(ended.error.find("std::"), std::string::npos) << ended.error;
}

}  // namespace
}  // namespace rollcall::test
