// Process arrival patterns: what each form means, that they are pure functions of the seed, and what is refused.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <rollcall/error.hpp>

#include "bench/cases/patterns.hpp"

#include "tests/unit/bench/bench.hpp"

namespace rollcall::bench {
namespace {

using Delays = std::vector<Nanoseconds>;
constexpr Nanoseconds kMessage = 10 * kMicrosecond;

std::uint64_t test_seed() {
    const char* given = std::getenv("ROLLCALL_TEST_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "ROLLCALL_TEST_SEED=" << seed << std::endl;
    return seed;
}

Delays delays(std::string_view text, int ranks, int root = 0, std::uint64_t iteration = 0, std::uint64_t seed = 1) {
    return Pattern::parse(text, seed).delays(ranks, root, iteration, kMessage);
}

std::string refusal(std::string_view text) {
    try {
        Pattern::parse(text);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        return error.what();
    }
    ADD_FAILURE() << "'" << text << "' was accepted";
    return {};
}

/// A file that is gone at the end of the test.
class PatternFile {
  public:
    explicit PatternFile(std::string_view text)
        : path_(std::filesystem::temp_directory_path() / ("rollcall_pattern_" + std::to_string(::getpid()))) {
        std::ofstream(path_) << text;
    }
    ~PatternFile() { std::filesystem::remove(path_); }
    std::string pattern() const { return "file:" + path_.string(); }

  private:
    std::filesystem::path path_;
};

TEST(BenchPatterns, FormsWithoutChance) {
    EXPECT_EQ(delays("balanced", 3), (Delays{0, 0, 0}));
    EXPECT_EQ(delays("ascending:30us", 4), (Delays{0, 10'000, 20'000, 30'000}));
    EXPECT_EQ(delays("descending:30us", 4), (Delays{30'000, 20'000, 10'000, 0}));
    EXPECT_EQ(delays("ascending:30us", 1), (Delays{0}));
    EXPECT_EQ(delays("last:2:1ms", 4), (Delays{0, 0, kMillisecond, kMillisecond}));
    EXPECT_EQ(delays("last:4:1ms", 4), Delays(4, kMillisecond));
    EXPECT_EQ(delays("root_late:5us", 3, 1), (Delays{0, 5'000, 0}));
    EXPECT_EQ(delays("rotating:1s", 3, 0, 0), (Delays{kSecond, 0, 0}));
    EXPECT_EQ(delays("rotating:1s", 3, 0, 5), (Delays{0, 0, kSecond}));
}

TEST(BenchPatterns, DurationsInMessageTimes) {
    EXPECT_EQ(delays("root_late:16T", 2), (Delays{160'000, 0}));
    EXPECT_EQ(delays("last:1:0.5T", 2), (Delays{0, 5'000}));
    EXPECT_EQ(Pattern::parse("last:1:1000000T").delays(2, 0, 0, 3'600 * kSecond)[1], 1'000'000'000'000'000'000)
        << "a product that does not fit is cut at the longest delay";
    EXPECT_TRUE(Pattern::parse("root_late:16T").needs_message_time());
    EXPECT_TRUE(Pattern::parse("max_if:16").needs_message_time());
    EXPECT_TRUE(Pattern::parse("uniform:0..2T").needs_message_time());
    EXPECT_FALSE(Pattern::parse("uniform:0..2ms").needs_message_time());
}

TEST(BenchPatterns, ChanceIsAFunctionOfSeedIterationAndRank) {
    const std::uint64_t seed = test_seed();
    for (const char* text : {"uniform:0..50ms", "max_if:1000000", "normal:20ms:5ms", "pareto:1.5:1ms"}) {
        const Delays eight = delays(text, 8, 0, 3, seed);
        EXPECT_EQ(eight, delays(text, 8, 0, 3, seed)) << text;
        EXPECT_EQ(eight, delays(text, 8, 5, 3, seed)) << text << ": the root does not matter";
        EXPECT_NE(eight, delays(text, 8, 0, 4, seed)) << text;
        EXPECT_NE(eight, delays(text, 8, 0, 3, seed + 1)) << text;
        Delays more = delays(text, 100, 0, 3, seed);
        more.resize(8);
        EXPECT_EQ(eight, more) << text << ": a rank's draw does not depend on how many ranks there are";
    }
}

TEST(BenchPatterns, ChanceStaysInItsBoundsAndReachesThem) {
    const std::uint64_t seed = test_seed();
    constexpr int kRanks = 20'000;
    const auto range = [](const Delays& values) {
        const auto [low, high] = std::minmax_element(values.begin(), values.end());
        return std::pair(*low, *high);
    };
    const auto mean = [](const Delays& values) {
        double sum = 0;
        for (const Nanoseconds value : values) sum += static_cast<double>(value);
        return sum / static_cast<double>(values.size());
    };
    // Tolerances are at least eight standard deviations of what is checked.
    const Delays uniform = delays("uniform:10ms..50ms", kRanks, 0, 0, seed);
    EXPECT_GE(range(uniform).first, 10 * kMillisecond);
    EXPECT_LT(range(uniform).first, 11 * kMillisecond);
    EXPECT_LE(range(uniform).second, 50 * kMillisecond);
    EXPECT_GT(range(uniform).second, 49 * kMillisecond);
    EXPECT_NEAR(mean(uniform), 30e6, 1e6);

    const Delays max_if = delays("max_if:16", kRanks, 0, 0, seed);
    EXPECT_EQ(range(max_if), std::pair(Nanoseconds{0}, 15 * kMessage)) << "r = rand % 16 is at most 15";
    for (const Nanoseconds delay : max_if) ASSERT_EQ(delay % kMessage, 0);

    const Delays late = delays("late:20%:3ms", kRanks, 7, 0, seed);
    EXPECT_EQ(late[7], 0) << "the root comes early";
    EXPECT_NEAR(static_cast<double>(std::count(late.begin(), late.end(), 3 * kMillisecond)) / kRanks, 0.2, 0.025);
    EXPECT_EQ(std::count(late.begin(), late.end(), 0) + std::count(late.begin(), late.end(), 3 * kMillisecond), kRanks);
    EXPECT_EQ(delays("late:0%:3ms", 4, 0, 0, seed), Delays(4, 0));
    EXPECT_EQ(delays("late:100%:3ms", 3, 1, 0, seed), (Delays{3 * kMillisecond, 0, 3 * kMillisecond}));

    const Delays normal = delays("normal:20ms:2ms", kRanks, 0, 0, seed);
    EXPECT_NEAR(mean(normal), 20e6, 0.2e6);
    EXPECT_EQ(range(delays("normal:0:2ms", kRanks, 0, 0, seed)).first, 0) << "clipped at zero";
    EXPECT_EQ(delays("normal:5ms:0", 2, 0, 0, seed), Delays(2, 5 * kMillisecond));

    const Delays pareto = delays("pareto:0.5:1ms", kRanks, 0, 0, seed);
    EXPECT_EQ(range(pareto).second, 1000 * kMillisecond) << "cut at 1000 scales, which three draws in a hundred reach";
    Delays sorted = delays("pareto:1:1ms", kRanks, 0, 0, seed);
    std::sort(sorted.begin(), sorted.end());
    EXPECT_NEAR(static_cast<double>(sorted[kRanks / 2]), 1e6, 0.15e6) << "the median of shape 1 is one scale";
}

TEST(BenchPatterns, MaxIfKeepsADrawForAsManyCallsAsAsked) {
    const Pattern pattern = Pattern::parse("max_if:1000000:20", test_seed());
    EXPECT_EQ(pattern.delays(4, 0, 0, kMessage), pattern.delays(4, 0, 19, kMessage));
    EXPECT_NE(pattern.delays(4, 0, 19, kMessage), pattern.delays(4, 0, 20, kMessage));
}

TEST(BenchPatterns, DescribeGivesThePatternBack) {
    for (const char* text :
         {"balanced", "uniform:0..50ms", "uniform:0..16T", "max_if:16", "max_if:16:20", "late:20%:16T", "late:2.5%:1500us", "ascending:1s",
          "descending:7ns", "last:2:10ms", "root_late:0.25T", "normal:20ms:5ms", "pareto:1.5:1ms", "rotating:90s"}) {
        EXPECT_EQ(Pattern::parse(text).describe(), text);
    }
    EXPECT_EQ(Pattern::parse("uniform:0.01s..1.5s").describe(), "uniform:10ms..1500ms");
    EXPECT_EQ(Pattern::parse("uniform:10ms").describe(), "uniform:0..10ms");
    EXPECT_EQ(Pattern::parse("rotating:2min").describe(), "rotating:120s");
    EXPECT_EQ(Pattern().describe(), "balanced");
}

TEST(BenchPatterns, ARefusalIsOneLineThatNamesTheTextAndEveryForm) {
    for (const char* text : {"",
                             "gauss",
                             "Balanced",
                             "balanced:1",
                             "uniform",
                             "uniform:",
                             "uniform:fifty",
                             "uniform:5ms..1ms",
                             "uniform:1..2..3",
                             "uniform:0..fifty",
                             "max_if:0",
                             "max_if:-1",
                             "max_if:1.5",
                             "max_if:1:0",
                             "max_if:1:1:1",
                             "late:20:5ms",
                             "late:101%:5ms",
                             "late:-1%:5ms",
                             "late:%:5ms",
                             "late:20%",
                             "ascending:",
                             "ascending:-5ms",
                             "ascending:5",
                             "ascending:-1T",
                             "ascending:infT",
                             "last:0:1ms",
                             "last:1ms",
                             "normal:1ms",
                             "pareto:0:1ms",
                             "pareto:x:1ms",
                             "rotating:1ms:2",
                             "file",
                             "file:"}) {
        const std::string sentence = refusal(text);
        EXPECT_TRUE(mentions(sentence, "'" + std::string(text) + "'")) << sentence;
        EXPECT_TRUE(mentions(sentence, pattern_forms_line())) << sentence;
        EXPECT_FALSE(mentions(sentence, "\n")) << sentence;
    }
    EXPECT_FALSE(mentions(refusal("bal\nanced"), "\n"));
    EXPECT_TRUE(mentions(refusal("late:120%:5ms"), "'120%' is not a probability from 0% to 100%"));
}

TEST(BenchPatterns, WhatDoesNotFitTheRanksIsRefused) {
    EXPECT_THROW(delays("last:5:1ms", 4), Error);
    EXPECT_THROW(delays("balanced", 0), Error);
    EXPECT_THROW(delays("balanced", 4, 4), Error);
    EXPECT_THROW(delays("balanced", 4, -1), Error);
    EXPECT_THROW(Pattern::parse("max_if:4").delays(4, 0, 0, -1), Error);
}

TEST(BenchPatterns, HelpHasALineForEveryForm) {
    EXPECT_EQ(pattern_forms().size(), 12u);
    for (const PatternForm& form : pattern_forms()) {
        EXPECT_TRUE(mentions(pattern_help(), form.form));
        EXPECT_TRUE(mentions(pattern_help(), form.meaning));
        EXPECT_TRUE(form.form.starts_with(form.name));
    }
}

TEST(BenchPatterns, FileIsReplayedAndWrapsAround) {
    const PatternFile file("rank0, rank1, rank2\n# made by hand\n0, 0.001, 5us\n\n 2T; 0; 1e-6 # the second call\n");
    const Pattern pattern = Pattern::parse(file.pattern());
    EXPECT_EQ(pattern.describe(), file.pattern());
    EXPECT_TRUE(pattern.needs_message_time());
    const Delays first{0, kMillisecond, 5'000}, second{2 * kMessage, 0, 1'000};
    EXPECT_EQ(pattern.delays(3, 0, 0, kMessage), first);
    EXPECT_EQ(pattern.delays(3, 0, 1, kMessage), second);
    EXPECT_EQ(pattern.delays(3, 0, 2, kMessage), first);
}

TEST(BenchPatterns, FileMayUseBlanksAndDosLineEnds) {
    const PatternFile file("0 1ms\t2ms\r\n3ms 4ms 5ms\r\n");
    EXPECT_EQ(delays(file.pattern(), 3, 0, 1), (Delays{3 * kMillisecond, 4 * kMillisecond, 5 * kMillisecond}));
}

TEST(BenchPatterns, FileErrorsNameTheLine) {
    const auto file_refusal = [](std::string_view text) { return refusal(PatternFile(text).pattern()); };
    EXPECT_TRUE(mentions(file_refusal("0,0,0\n# note\n0,0\n"), "line 3 has 2 delays, but line 1 has 3"));
    EXPECT_TRUE(mentions(file_refusal("0,0\n0,soon\n"), "line 2: 'soon' is not a delay"));
    EXPECT_TRUE(mentions(file_refusal("0,-1\n"), "line 1: '-1' is not a delay"));
    EXPECT_TRUE(mentions(file_refusal("0,,1\n"), "line 1: '' is not a delay"));
    EXPECT_TRUE(mentions(file_refusal("0,1,\n"), "line 1: '' is not a delay"));
    EXPECT_TRUE(mentions(file_refusal("# nothing\n"), "no line with delays"));
    EXPECT_TRUE(
        mentions(refusal("file:/nonexistent/pattern"), "'file:/nonexistent/pattern': the file cannot be read: No such file or directory"));
    EXPECT_TRUE(mentions(refusal("file:/"), "not a regular file"));
    EXPECT_TRUE(mentions(refusal("file:/dev/zero"), "not a regular file"));
    const std::string pipe = testing::TempDir() + "rollcall-pattern-pipe-" + std::to_string(::getpid());
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_TRUE(mentions(refusal("file:" + pipe), "not a regular file"));
    ::unlink(pipe.c_str());
    const PatternFile three("# note\n0,0,0\n");
    try {
        delays(three.pattern(), 8);
        ADD_FAILURE() << "a file for 3 ranks was used for 8";
    } catch (const Error& error) {
        EXPECT_TRUE(mentions(error.what(), "line 2 has 3 delays, but there are 8 ranks")) << error.what();
    }
}

}  // namespace
}  // namespace rollcall::bench
