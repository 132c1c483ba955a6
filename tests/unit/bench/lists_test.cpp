// Lists of sizes, counts and names as they stand on a command line.
#include <gtest/gtest.h>

#include <functional>
#include <rollcall/error.hpp>

#include "bench/cases/intergroup_cases.hpp"
#include "bench/cases/lists.hpp"

#include "tests/unit/bench/bench.hpp"

namespace rollcall::bench {
namespace {

const std::vector<Choice> kAlgorithms{{"linear", {"flat"}}, {"binomial"}, {"arrival_nonblocking", {"arrival_nb"}}};

std::string refusal(const std::function<void()>& parse) {
    try {
        parse();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        return error.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
}

TEST(BenchLists, ATimeIsRefusedWithItsOptionAndWhatIsAllowed) {
    EXPECT_EQ(parse_time("1.5s", "--time", 1), 1'500'000'000);
    EXPECT_EQ(parse_time("0", "--time", 0), 0);
    for (const std::string wrong : {"-5ms", "0", "5", "soon"})
        EXPECT_EQ(refusal([&] { parse_time(wrong, "--time", 1); }),
                  "--time '" + wrong + "'; allowed: a duration such as 500ms or 30s, above 0");
    EXPECT_EQ(refusal([] { parse_time("7ms", "--time", 8'000'000); }),
              "--time '7ms'; allowed: a duration such as 500ms or 30s, 8ms or more");
}

TEST(BenchLists, Sizes) {
    EXPECT_EQ(parse_sizes("8,64Ki,8Mi", "--bytes"), (std::vector<std::uint64_t>{8, 65'536, 8'388'608}));
    EXPECT_EQ(parse_sizes("0, 1k", "--bytes"), (std::vector<std::uint64_t>{0, 1'000}));
    for (const char* text : {"", "8,", ",8", "8,,9", "8;9", "8Qi", "-1", "1.5"})
        EXPECT_TRUE(mentions(refusal([&] { parse_sizes(text, "--bytes"); }), "'" + std::string(text) + "'; allowed:")) << text;
    EXPECT_TRUE(mentions(refusal([] { parse_sizes("8,9Qi", "--bytes"); }), "--bytes: unknown size '9Qi' in '8,9Qi'"));
    EXPECT_TRUE(mentions(refusal([] { parse_sizes("8\n,9", "--bytes"); }), "\\x0a"));
}

TEST(BenchLists, RangesOfSizes) {
    using Sizes = std::vector<std::uint64_t>;
    EXPECT_EQ(parse_sizes("8..64", "--bytes"), (Sizes{8, 16, 32, 64}));
    EXPECT_EQ(parse_sizes("8..100", "--bytes"), (Sizes{8, 16, 32, 64})) << "the last size need not be reached";
    EXPECT_EQ(parse_sizes("0,1Ki..64Ki:x4, 1M", "--bytes"), (Sizes{0, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 1'000'000}));
    EXPECT_EQ(parse_sizes("7..7", "--bytes"), Sizes{7});
    EXPECT_EQ(parse_sizes("8..8Mi", "--bytes").size(), 21u);
    const Sizes all = parse_sizes("1..18446744073709551615", "--bytes");
    EXPECT_EQ(all.size(), 64u);
    EXPECT_EQ(all.back(), std::uint64_t{1} << 63);
    EXPECT_EQ(parse_sizes("3..18446744073709551615:x18446744073709551615", "--bytes"), Sizes{3});
    for (const char* text : {"0..8", "9..8", "8..", "..8", "..", "8...9", "8..9..10", "8..64:x1", "8..64:x0", "8..64:x", "8..64:4",
                             "8..64:x4:x4", "8..64:", "8:x4", "8..64:x-2", "8..64:x1Ki"})
        EXPECT_TRUE(mentions(refusal([&] { parse_sizes(text, "--bytes"); }), "--bytes: unknown size '" + std::string(text) + "'; allowed"))
            << text;
    EXPECT_TRUE(mentions(refusal([] { parse_sizes("8,9..8", "--bytes"); }), "'9..8' in '8,9..8'; allowed: "));
}

TEST(BenchLists, RangesOfCounts) {
    EXPECT_EQ(parse_counts("2..64:x3,5", "--ranks", 1, 64), (std::vector<std::uint64_t>{2, 6, 18, 54, 5}));
    for (const char* text : {"2..65", "0..8", "8..2", "2..1Ki"})
        EXPECT_TRUE(mentions(refusal([&] { parse_counts(text, "--ranks", 0, 64); }), "--ranks '" + std::string(text) + "'; allowed"))
            << text;
    EXPECT_TRUE(mentions(refusal([] { parse_counts("2,0", "--ranks", 1, 64); }), "--ranks '0' in '2,0'; allowed"));
}

TEST(BenchLists, Counts) {
    EXPECT_EQ(parse_counts("2,4,8", "ranks", 1, 64), (std::vector<std::uint64_t>{2, 4, 8}));
    for (const char* text : {"", "0", "65", "2,x", "2.5", "99999999999999999999"})
        EXPECT_TRUE(mentions(refusal([&] { parse_counts(text, "ranks", 1, 64); }), "whole numbers from 1 to 64")) << text;
}

// What is measured twice would count twice.
TEST(BenchLists, NumbersThatComeAgainAreKeptOnce) {
    using Numbers = std::vector<std::uint64_t>;
    EXPECT_EQ(parse_sizes("8,8..64:x8,1Ki,8,1024", "--bytes"), (Numbers{8, 64, 1024}));
    EXPECT_EQ(parse_counts("4,4,2..8", "--ranks", 1, 64), (Numbers{4, 2, 8}));
    EXPECT_EQ(parse_sizes("5,5", "--sizes", Repeated::kept), (Numbers{5, 5})) << "one for each rank";
    EXPECT_EQ(parse_counts("8,8", "--groups", 1, 64, Repeated::kept), (Numbers{8, 8}));
    EXPECT_EQ(groups_of("8,8", 16), (Numbers{8, 8}));
}

TEST(BenchLists, Names) {
    const auto names = [](std::string_view text) { return parse_names(text, "algorithm", kAlgorithms); };
    EXPECT_EQ(names("binomial,linear"), (std::vector<std::string>{"binomial", "linear"}));
    EXPECT_EQ(names("arrival_nb, flat"), (std::vector<std::string>{"arrival_nonblocking", "linear"}));
    EXPECT_EQ(names("flat,linear,flat"), (std::vector<std::string>{"linear"}));
    EXPECT_EQ(names("all"), (std::vector<std::string>{"linear", "binomial", "arrival_nonblocking"}));
    EXPECT_EQ(names("binomial,all"), (std::vector<std::string>{"binomial", "linear", "arrival_nonblocking"}));
    EXPECT_EQ(refusal([&] { names("linear,ring"); }), "unknown algorithm 'ring'; allowed: all, linear, binomial, arrival_nonblocking");
    EXPECT_TRUE(mentions(refusal([&] { names(""); }), "unknown algorithm ''"));
}

}  // namespace
}  // namespace rollcall::bench
