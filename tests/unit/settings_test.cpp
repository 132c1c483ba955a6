#include "runtime/settings/settings.hpp"

#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "tests/unit/errors.hpp"

namespace rollcall::runtime {
namespace {

using Variables = std::map<std::string, std::string>;

/// The environment without any ROLLCALL_ variable but those given; put back at the end.
class Environment {
  public:
    explicit Environment(const Variables& variables) {
        for (char** entry = environ; *entry != nullptr; ++entry) {
            const std::string text = *entry;
            const auto equals = text.find('=');
            if (text.starts_with("ROLLCALL_")) before_[text.substr(0, equals)] = text.substr(equals + 1);
        }
        for (const auto& [name, value] : before_) unsetenv(name.c_str());
        for (const auto& [name, value] : variables) {
            setenv(name.c_str(), value.c_str(), 1);
            set_.push_back(name);
        }
    }
    ~Environment() {
        for (const auto& name : set_) unsetenv(name.c_str());
        for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

  private:
    Variables before_;
    std::vector<std::string> set_;
};

Settings read(const Variables& variables) {
    const Environment environment(variables);
    return Settings::from_environment();
}

std::string setting_refusal(const std::string& variable, const std::string& value) {
    return refusal(ErrorCode::invalid_setting, [&] { read({{variable, value}}); });
}

std::string value_of(const std::vector<SettingRow>& rows, const std::string& variable) {
    for (const auto& row : rows) {
        if (row.variable == variable) return row.value;
    }
    ADD_FAILURE() << variable << " is not described";
    return {};
}

std::mt19937_64 seeded_random() {
    const char* given = std::getenv("ROLLCALL_TEST_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "ROLLCALL_TEST_SEED=" << seed << std::endl;
    return std::mt19937_64(seed);
}

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
    for (const std::string text : {"0.5ns", "1.0001us", "0.0000000001s"}) {
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

TEST(Settings, AreTheDefaultsInAnEmptyEnvironment) {
    const Environment environment(Variables{});
    const auto rows = describe(Settings::from_environment());
    const auto defaults = describe(Settings{});
    ASSERT_EQ(rows.size(), defaults.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].value, defaults[i].value) << rows[i].variable;
        EXPECT_EQ(rows[i].source, "default");
        EXPECT_FALSE(rows[i].allowed.empty());
        EXPECT_FALSE(rows[i].meaning.empty());
    }
    EXPECT_EQ(value_of(rows, "ROLLCALL_LANDING_BYTES"), "128Mi");
    EXPECT_EQ(value_of(rows, "ROLLCALL_SPIN"), "100us");
    EXPECT_EQ(value_of(rows, "ROLLCALL_TIMEOUT"), "0");
    EXPECT_EQ(value_of(rows, "ROLLCALL_PROGRESS"), "thread");
    EXPECT_EQ(value_of(rows, "ROLLCALL_NET"), "");
}

/// Every variable: values that are taken (and how they are shown), and values that are not.
struct Case {
    std::string variable;
    std::vector<std::pair<std::string, std::string>> good;  // value, as described
    std::vector<std::string> bad;
    std::string allowed;
};

const std::vector<std::string> kBadSizes = {"", "-1", "8K", "1e3", "abc", "18446744073709551616", "1.5Ki", "8 Mi"};
const std::vector<std::string> kBadDurations = {"", "-1ms", "5", "abc", "1e3ms", "9223372037s", "5 ms", "0.5ns"};

std::vector<std::string> with(std::vector<std::string> list, const std::vector<std::string>& more) {
    list.insert(list.end(), more.begin(), more.end());
    return list;
}

const std::vector<Case> kCases = {
    {"ROLLCALL_TRANSPORT", {{"ucx", "ucx"}}, {"", "UCX", "ucx ", "tcp"}, "ucx"},
    {"ROLLCALL_LANDING_BYTES",
     {{"0", "0"}, {"64Mi", "64Mi"}, {"67108864", "64Mi"}, {"18446744073709551615", "18446744073709551615"}},
     kBadSizes,
     "a size such as 123, 64Ki or 8MiB"},
    {"ROLLCALL_LANDING_LONGEST", {{"0", "0"}, {"64Ki", "64Ki"}}, kBadSizes, "a size such as 123, 64Ki or 8MiB"},
    {"ROLLCALL_EAGER_BYTES",
     {{"0", "0"}, {"1000", "1k"}, {"1MiB", "1Mi"}},
     with(kBadSizes, {"1048577", "1Gi"}),
     "a size such as 123, 64Ki or 8MiB, 1Mi or less"},
    {"ROLLCALL_SEGMENT_BYTES",
     {{"64", "64"}, {"8Gi", "8Gi"}},
     with(kBadSizes, {"0", "63"}),
     "a size such as 123, 64Ki or 8MiB, 64 or more"},
    {"ROLLCALL_BOARD_SLOTS",
     {{"0", "0"}, {"4096", "4096"}, {"4Ki", "4096"}},
     with(kBadSizes, {"1Ti", "4096B"}),
     "a number such as 123 or 64Ki, 1Gi or less; 0 = automatic"},
    {"ROLLCALL_PROGRESS", {{"thread", "thread"}, {"host", "host"}}, {"", "Thread", "0"}, "thread, host"},
    {"ROLLCALL_PROGRESS_BIND", {{"application", "application"}, {"none", "none"}}, {"", "core"}, "application, none"},
    {"ROLLCALL_PROGRESS_TICK",
     {{"10us", "10us"}, {"1.5ms", "1500us"}, {"1min", "60s"}},
     with(kBadDurations, {"0", "9us"}),
     "a duration such as 20us, 50ms or 1.5s, 10us or more"},
    {"ROLLCALL_PROGRESS_QUIET", {{"0", "0"}, {"20ms", "20ms"}}, kBadDurations, "a duration such as 20us, 50ms or 1.5s, 0 or more"},
    {"ROLLCALL_SPIN", {{"0", "0"}, {"1ns", "1ns"}, {"50us", "50us"}}, kBadDurations, "a duration such as 20us, 50ms or 1.5s, 0 or more"},
    {"ROLLCALL_YIELD", {{"auto", "auto"}, {"always", "always"}, {"never", "never"}}, {"", "yes", "1"}, "auto, always, never"},
    {"ROLLCALL_TIMEOUT", {{"0", "0"}, {"30s", "30s"}}, kBadDurations, "a duration such as 20us, 50ms or 1.5s, 0 or more"},
    {"ROLLCALL_MISMATCH_PROBE",
     {{"100us", "100us"}, {"1s", "1s"}},
     with(kBadDurations, {"0", "99us"}),
     "a duration such as 20us, 50ms or 1.5s, 100us or more"},
    {"ROLLCALL_BROADCAST",
     {{"auto", "auto"}, {"binomial", "binomial"}},
     {""},
     "auto, or an algorithm that `rollcall info --algorithms` lists"},
    {"ROLLCALL_SCATTER", {{"auto", "auto"}}, {""}, "auto, or an algorithm that `rollcall info --algorithms` lists"},
    {"ROLLCALL_GATHER", {{"auto", "auto"}}, {""}, "auto, or an algorithm that `rollcall info --algorithms` lists"},
    {"ROLLCALL_BARRIER", {{"auto", "auto"}}, {""}, "auto, or an algorithm that `rollcall info --algorithms` lists"},
    {"ROLLCALL_LAUNCH_TIMEOUT", {{"0", "0"}, {"5min", "300s"}}, kBadDurations, "a duration such as 20us, 50ms or 1.5s, 0 or more"},
    {"ROLLCALL_HEARTBEAT", {{"0", "0"}, {"100ms", "100ms"}}, kBadDurations, "a duration such as 20us, 50ms or 1.5s, 0 or more"},
    {"ROLLCALL_SILENCE", {{"0", "0"}, {"3s", "3s"}}, kBadDurations, "a duration such as 20us, 50ms or 1.5s, 0 or more"},
    {"ROLLCALL_PORT",
     {{"0", "0"}, {"29501", "29501"}, {"65535", "65535"}},
     with(kBadSizes, {"65536"}),
     "a number such as 123 or 64Ki, 65535 or less; 0 = as the starter says"},
    {"ROLLCALL_KEY_FILE", {{"/a/key", "/a/key"}, {"", ""}}, {}, "a path"},
    {"ROLLCALL_MUNGE_SOCKET",
     {{"", ""}, {"/run/munge/munge.socket.2", "/run/munge/munge.socket.2"}},
     {"munge.socket"},
     "an absolute path; empty = libmunge's default"},
    {"ROLLCALL_LOG",
     {{"debug", "debug"}, {"info", "info"}, {"warning", "warning"}, {"error", "error"}, {"off", "off"}},
     {"", "warn", "DEBUG"},
     "debug, info, warning, error, off"},
};
// ROLLCALL_NET has a grammar of its own: see Settings.NetIsCheckedByItsOwnParser and the tests of interfaces.

TEST(Settings, EveryVariableTakesItsGoodValues) {
    for (const auto& test : kCases) {
        for (const auto& [value, shown] : test.good) {
            const Variables variables = {{test.variable, value}};
            const Environment environment(variables);
            const auto rows = describe(Settings::from_environment());
            EXPECT_EQ(value_of(rows, test.variable), shown);
            for (const auto& row : rows) {
                EXPECT_EQ(row.source, row.variable == test.variable ? "environment" : "default") << row.variable;
            }
        }
    }
}

TEST(Settings, EveryVariableRefusesItsBadValuesInOneLine) {
    for (const auto& test : kCases) {
        for (const auto& value : test.bad) {
            EXPECT_EQ(setting_refusal(test.variable, value), test.variable + "='" + value + "' is not allowed; allowed: " + test.allowed);
        }
    }
}

TEST(Settings, TheCasesAboveAreAllThereAre) {
    std::set<std::string> tested = {"ROLLCALL_NET"};
    for (const auto& test : kCases) tested.insert(test.variable);
    std::set<std::string> described;
    for (const auto& row : describe(Settings{})) described.insert(row.variable);
    EXPECT_EQ(tested, described);
}

TEST(Settings, StoreTheValuesWhereTheyBelong) {
    const auto settings = read({{"ROLLCALL_NET", "eth0,^10.0.0.0/8"},
                                {"ROLLCALL_LANDING_BYTES", "1Mi"},
                                {"ROLLCALL_LANDING_LONGEST", "64Ki"},
                                {"ROLLCALL_EAGER_BYTES", "4Ki"},
                                {"ROLLCALL_SEGMENT_BYTES", "2Ki"},
                                {"ROLLCALL_BOARD_SLOTS", "77"},
                                {"ROLLCALL_PROGRESS", "host"},
                                {"ROLLCALL_PROGRESS_BIND", "none"},
                                {"ROLLCALL_PROGRESS_TICK", "1ms"},
                                {"ROLLCALL_PROGRESS_QUIET", "3ms"},
                                {"ROLLCALL_SPIN", "7us"},
                                {"ROLLCALL_YIELD", "never"},
                                {"ROLLCALL_TIMEOUT", "2min"},
                                {"ROLLCALL_MISMATCH_PROBE", "1s"},
                                {"ROLLCALL_BROADCAST", "linear"},
                                {"ROLLCALL_SCATTER", "sorted_linear"},
                                {"ROLLCALL_GATHER", "linear_synchronized"},
                                {"ROLLCALL_BARRIER", "dissemination"},
                                {"ROLLCALL_LAUNCH_TIMEOUT", "2s"},
                                {"ROLLCALL_HEARTBEAT", "3s"},
                                {"ROLLCALL_SILENCE", "4s"},
                                {"ROLLCALL_PORT", "29501"},
                                {"ROLLCALL_KEY_FILE", "/a/key"},
                                {"ROLLCALL_MUNGE_SOCKET", "/m"},
                                {"ROLLCALL_LOG", "debug"},
                                {"ROLLCALL_TRANSPORT", "ucx"}});
    EXPECT_EQ(settings.net, "eth0,^10.0.0.0/8");
    EXPECT_EQ(settings.landing_bytes, 1u << 20);
    EXPECT_EQ(settings.landing_longest, 65536u);
    EXPECT_EQ(settings.eager_bytes, 4096u);
    EXPECT_EQ(settings.segment_bytes, 2048u);
    EXPECT_EQ(settings.board_slots, 77u);
    EXPECT_EQ(settings.progress, ProgressMode::host);
    EXPECT_EQ(settings.progress_bind, ProgressBind::none);
    EXPECT_EQ(settings.progress_tick, 1'000'000);
    EXPECT_EQ(settings.progress_quiet, 3'000'000);
    EXPECT_EQ(settings.spin, 7'000);
    EXPECT_EQ(settings.yield, "never");
    EXPECT_EQ(settings.timeout, 120'000'000'000);
    EXPECT_EQ(settings.mismatch_probe, 1'000'000'000);
    EXPECT_EQ(settings.broadcast, "linear");
    EXPECT_EQ(settings.scatter, "sorted_linear");
    EXPECT_EQ(settings.launch_timeout, 2'000'000'000);
    EXPECT_EQ(settings.heartbeat, 3'000'000'000);
    EXPECT_EQ(settings.silence, 4'000'000'000);
    EXPECT_EQ(settings.port, 29501u);
    EXPECT_EQ(settings.key_file, "/a/key");
    EXPECT_EQ(settings.gather, "linear_synchronized");
    EXPECT_EQ(settings.barrier, "dissemination");
    EXPECT_EQ(settings.munge_socket, "/m");
    EXPECT_EQ(settings.log, "debug");
    EXPECT_EQ(settings.transport, "ucx");
}

TEST(Settings, NetIsCheckedByItsOwnParser) {
    EXPECT_EQ(read({{"ROLLCALL_NET", ""}}).net, "");
    EXPECT_EQ(setting_refusal("ROLLCALL_NET", "10.0.0.0/33"),
              "ROLLCALL_NET='10.0.0.0/33' is not allowed: '10.0.0.0/33' is not a network; allowed: a comma list of "
              "interfaces (eth0) "
              "and networks (10.0.0.0/8, fd00::/8), each excluded by a ^ before it (^docker0); empty = automatic");
}

TEST(Settings, AnUnknownVariableIsRefusedWithTheKnownOnes) {
    EXPECT_EQ(setting_refusal("ROLLCALL_SPINN", "1us"),
              "'ROLLCALL_SPINN' is not a setting; the settings are: ROLLCALL_TRANSPORT, ROLLCALL_NET, "
              "ROLLCALL_LANDING_BYTES, ROLLCALL_LANDING_LONGEST, "
              "ROLLCALL_EAGER_BYTES, ROLLCALL_SEGMENT_BYTES, ROLLCALL_BOARD_SLOTS, ROLLCALL_PROGRESS, "
              "ROLLCALL_PROGRESS_BIND, "
              "ROLLCALL_PROGRESS_TICK, ROLLCALL_PROGRESS_QUIET, ROLLCALL_SPIN, ROLLCALL_YIELD, ROLLCALL_TIMEOUT, "
              "ROLLCALL_MISMATCH_PROBE, ROLLCALL_BROADCAST, ROLLCALL_SCATTER, ROLLCALL_GATHER, ROLLCALL_BARRIER, "
              "ROLLCALL_LAUNCH_TIMEOUT, ROLLCALL_HEARTBEAT, ROLLCALL_SILENCE, ROLLCALL_PORT, ROLLCALL_KEY_FILE, "
              "ROLLCALL_MUNGE_SOCKET, ROLLCALL_LOG");
    for (const std::string variable : {"ROLLCALL_", "ROLLCALL_spin", "ROLLCALL_BOOTSTRAP", "ROLLCALL_TEST", "ROLLCALL_RANKS"}) {
        EXPECT_TRUE(setting_refusal(variable, "").starts_with("'" + variable + "' is not a setting; the settings are: "));
    }
}

TEST(Settings, VariablesOfTheLauncherTheTestsAndOthersAreLetThrough) {
    EXPECT_NO_THROW(read({{"ROLLCALL_RENDEZVOUS", "/shared"}, {"ROLLCALL_RANK", "0"}, {"ROLLCALL_SIZE", "2"}, {"ROLLCALL_JOB_ID", "a"}}));
    EXPECT_NO_THROW(read({{"ROLLCALL_BOOTSTRAP_RANK", "3"}, {"ROLLCALL_TEST_SEED", "1"}, {"ROLLCALLING", "x"}}));
}

TEST(Settings, DescribedValuesReadBackAsThemselves) {
    auto random = seeded_random();
    for (int i = 0; i < 300; ++i) {
        Settings settings;
        settings.landing_bytes = random() >> (random() % 64);
        settings.segment_bytes = 64 + (random() >> (1 + random() % 63));
        settings.spin = static_cast<Nanoseconds>(random() >> (1 + random() % 63));
        settings.timeout = static_cast<Nanoseconds>(random() % 1'000) * 1'000'000;
        settings.progress_quiet = static_cast<Nanoseconds>(random() % 1'000'000) * 1'000;
        settings.progress = random() % 2 == 0 ? ProgressMode::thread : ProgressMode::host;
        Variables variables;
        for (const auto& row : describe(settings)) variables[row.variable] = row.value;
        const auto again = read(variables);
        EXPECT_EQ(again.landing_bytes, settings.landing_bytes);
        EXPECT_EQ(again.segment_bytes, settings.segment_bytes);
        EXPECT_EQ(again.spin, settings.spin);
        EXPECT_EQ(again.timeout, settings.timeout);
        EXPECT_EQ(again.progress_quiet, settings.progress_quiet);
        EXPECT_EQ(again.progress, settings.progress);
    }
}

}  // namespace
}  // namespace rollcall::runtime
