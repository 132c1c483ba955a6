#include "foundation/units.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include <rollcall/error.hpp>

#include "tests/unit/errors.hpp"
#include "tests/unit/random.hpp"

namespace rollcall {
namespace {

constexpr auto kSizes = "a whole number of bytes, alone or with k, M, G, T (decimal) or Ki, Mi, Gi, Ti (binary): 123, 64Ki, 8MiB";
constexpr auto kDurations = "0, or a number with ns, us, ms, s or min: 50ms, 1.5s";

TEST(ParseBytes, TakesWholeNumbersWithUnits) {
    EXPECT_EQ(parse_bytes("0"), 0u);
    EXPECT_EQ(parse_bytes("123"), 123u);
    EXPECT_EQ(parse_bytes("007"), 7u);
    EXPECT_EQ(parse_bytes("8B"), 8u);
    EXPECT_EQ(parse_bytes("1k"), 1'000u);
    EXPECT_EQ(parse_bytes("1kB"), 1'000u);
    EXPECT_EQ(parse_bytes("3M"), 3'000'000u);
    EXPECT_EQ(parse_bytes("8MB"), 8'000'000u);
    EXPECT_EQ(parse_bytes("2G"), 2'000'000'000u);
    EXPECT_EQ(parse_bytes("2T"), 2'000'000'000'000u);
    EXPECT_EQ(parse_bytes("64Ki"), 65'536u);
    EXPECT_EQ(parse_bytes("8Mi"), 8u << 20);
    EXPECT_EQ(parse_bytes("8MiB"), 8u << 20);
    EXPECT_EQ(parse_bytes("3Gi"), 3ull << 30);
    EXPECT_EQ(parse_bytes("3Ti"), 3ull << 40);
    EXPECT_EQ(parse_bytes("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
}

TEST(ParseBytes, RefusesEverythingElseInOneLine) {
    for (const std::string text : {"",   " ",   "B",  "Ki", "-1",   "+1",  "1e3",  "1.5Ki",  "0x10", "8 Mi", " 8",
                                   "8 ", "8KI", "8K", "8m", "8Mib", "8BB", "8Kik", "8,64Ki", "abc",  "eight"}) {
        EXPECT_EQ(refusal(ErrorCode::invalid_argument, [&] { parse_bytes(text); }), "'" + text + "' is not a size; allowed: " + kSizes);
    }
    for (const std::string text : {"18446744073709551616", "99999999999999999999999", "16777216Ti", "18446744073710M"}) {
        EXPECT_EQ(refusal(ErrorCode::invalid_argument, [&] { parse_bytes(text); }),
                  "'" + text + "' is a size too large for 64 bits; allowed: " + kSizes);
    }
    EXPECT_EQ(refusal(ErrorCode::invalid_argument, [&] { parse_bytes("8\nMi\x7f"); }),
              std::string("'8\\x0aMi\\x7f' is not a size; allowed: ") + kSizes);
    EXPECT_LT(refusal(ErrorCode::invalid_argument, [&] { parse_bytes(std::string(100'000, 'x')); }).size(), 400u);
}

TEST(ParseDuration, TakesNumbersWithUnits) {
    EXPECT_EQ(parse_duration("0"), 0);
    EXPECT_EQ(parse_duration("0s"), 0);
    EXPECT_EQ(parse_duration("100ns"), 100);
    EXPECT_EQ(parse_duration("20us"), 20'000);
    EXPECT_EQ(parse_duration("20\u00b5s"), 20'000);
    EXPECT_EQ(parse_duration("50ms"), 50'000'000);
    EXPECT_EQ(parse_duration("1.5s"), 1'500'000'000);
    EXPECT_EQ(parse_duration("2min"), 120'000'000'000);
    EXPECT_EQ(parse_duration("0.5min"), 30'000'000'000);
    EXPECT_EQ(parse_duration("0.000000001s"), 1);
    EXPECT_EQ(parse_duration("1.000ns"), 1);
    EXPECT_EQ(parse_duration("1.50000000000000000000000000000s"), 1'500'000'000);
    EXPECT_EQ(parse_duration("9223372036854775807ns"), std::numeric_limits<Nanoseconds>::max());
    EXPECT_EQ(parse_duration("9223372036.854775807s"), std::numeric_limits<Nanoseconds>::max());
}

TEST(ParseDuration, RefusesEverythingElseInOneLine) {
    const auto refused = [](const std::string& text) { return refusal(ErrorCode::invalid_argument, [&] { parse_duration(text); }); };
    for (const std::string text : {"", "ms", "-5ms", "+5ms", "5 ms", " 5ms", "5ms ", "1e3ns", ".5s", "5.s", "1.2.3s", "5h", "5S", "5msec",
                                   "0x5s", "inf", "nan", "0..50ms", "forever"}) {
        EXPECT_EQ(refused(text), "'" + text + "' is not a duration; allowed: " + kDurations);
    }
    for (const std::string text : {"5", "100", "0.0", "1.5"}) {
        EXPECT_EQ(refused(text), "'" + text + "' is a duration without a unit; allowed: " + kDurations);
    }
    for (const std::string text : {"0.5ns", "1.0001us", "0.0000000001s", "0.01ns", "1.00000000001s", "0.001000000000001min"}) {
        EXPECT_EQ(refused(text), "'" + text + "' is a duration finer than a nanosecond; allowed: " + kDurations);
    }
    for (const std::string text : {"9223372036854775808ns", "18446744073709551616ns", "9223372037s", "153722868min"}) {
        EXPECT_EQ(refused(text), "'" + text + "' is a duration too long for 64 bits of nanoseconds; allowed: " + kDurations);
    }
}

TEST(FormatBytes, IsTheShortestExactText) {
    EXPECT_EQ(format_bytes(0), "0");
    EXPECT_EQ(format_bytes(1), "1");
    EXPECT_EQ(format_bytes(999), "999");
    EXPECT_EQ(format_bytes(1'000), "1k");
    EXPECT_EQ(format_bytes(1'023), "1023");
    EXPECT_EQ(format_bytes(1'024), "1Ki");
    EXPECT_EQ(format_bytes(65'536), "64Ki");
    EXPECT_EQ(format_bytes(8 << 20), "8Mi");
    EXPECT_EQ(format_bytes((8 << 20) + 1), "8388609");
    EXPECT_EQ(format_bytes(1'000'000), "1M");
    EXPECT_EQ(format_bytes(128'000), "128k");
    EXPECT_EQ(format_bytes(10'112'000), "9875Ki");  // as long as 10112k: the binary one
    EXPECT_EQ(format_bytes(1ull << 50), "1024Ti");
    EXPECT_EQ(format_bytes(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(FormatBytes, ReadsBackAsItself) {
    auto random = seeded_random();
    for (int i = 0; i < 20'000; ++i) {
        auto bytes = random() >> (random() % 64);
        if (i % 2 == 0) bytes &= ~std::uint64_t{0} << (random() % 64);
        if (i % 3 == 0) bytes = bytes / 1'000 * 1'000;
        EXPECT_EQ(parse_bytes(format_bytes(bytes)), bytes);
        EXPECT_LE(format_bytes(bytes).size(), std::to_string(bytes).size());
    }
}

TEST(FormatDuration, HasThreeSignificantDigitsAndAUnit) {
    EXPECT_EQ(format_duration(0), "0 s");
    EXPECT_EQ(format_duration(12.34e-6), "12.3 us");
    EXPECT_EQ(format_duration(1e-9), "1.00 ns");
    EXPECT_EQ(format_duration(0.105e-6), "105 ns");
    EXPECT_EQ(format_duration(0.05e-9), "0.05 ns");
    EXPECT_EQ(format_duration(9.996e-6), "10.0 us");
    EXPECT_EQ(format_duration(99.96e-6), "100 us");
    EXPECT_EQ(format_duration(999.4e-6), "999 us");
    EXPECT_EQ(format_duration(999.6e-6), "1.00 ms");
    EXPECT_EQ(format_duration(1.5), "1.50 s");
    EXPECT_EQ(format_duration(86'400), "86400 s");
    EXPECT_EQ(format_duration(-12.3e-3), "-12.3 ms");
    EXPECT_EQ(format_duration(std::numeric_limits<double>::quiet_NaN()), "nan s");
    EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "inf s");
}

TEST(Units, CountInTheSingularAndPlural) {
    EXPECT_EQ(counted(0, "rank"), "0 ranks");
    EXPECT_EQ(counted(1, "rank"), "1 rank");
    EXPECT_EQ(counted(2, "byte"), "2 bytes");
}

}  // namespace
}  // namespace rollcall
