#include "foundation/settings.hpp"

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "foundation/units.hpp"
#include "tests/unit/errors.hpp"
#include "tests/unit/random.hpp"

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
    {"ROLLCALL_TRANSPORT", {{"ucx", "ucx"}, {"ofi", "ofi"}, {"auto", "auto"}}, {"", "UCX", "ucx ", "tcp"}, "ucx, ofi, auto"},
    {"ROLLCALL_LANDING_BYTES",
     {{"0", "0"}, {"64Mi", "64Mi"}, {"67108864", "64Mi"}, {"18446744073709551615", "18446744073709551615"}},
     kBadSizes,
     "a size such as 123, 64Ki or 8MiB"},
    {"ROLLCALL_LANDING_LONGEST", {{"0", "0"}, {"64Ki", "64Ki"}}, kBadSizes, "a size such as 123, 64Ki or 8MiB"},
    {"ROLLCALL_EAGER_BYTES",
     {{"0", "0"}, {"1000", "1k"}, {"1MiB", "1Mi"}, {"auto", "auto"}},
     with(kBadSizes, {"1048577", "1Gi", "Auto", "18446744073709551615"}),
     "auto, or a size such as 123 or 64Ki, 1Mi or less"},
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
    {"ROLLCALL_DECOUPLE", {{"auto", "auto"}, {"no", "no"}}, {"", "yes", "0"}, "auto, no"},
    {"ROLLCALL_NODE_MEMORY", {{"auto", "auto"}, {"no", "no"}}, {"", "yes", "0"}, "auto, no"},
    {"ROLLCALL_NODE_RANKS",
     {{"0", "0"}, {"8", "8"}, {"1Ki", "1024"}},
     with(kBadSizes, {"2Mi", "-1"}),
     "a number such as 123 or 64Ki, 1Mi or less; 0 = all"},
    {"ROLLCALL_SINGLE_COPY", {{"auto", "auto"}, {"always", "always"}, {"no", "no"}}, {"", "yes", "1"}, "auto, always, no"},
    {"ROLLCALL_OFI_READS", {{"auto", "auto"}, {"always", "always"}, {"no", "no"}}, {"", "yes", "1"}, "auto, always, no"},
    {"ROLLCALL_COSTS", {{"/a/costs", "/a/costs"}, {"no", "no"}, {"", ""}}, {}, "a path, or no"},
    {"ROLLCALL_TIMEOUT", {{"0", "0"}, {"30s", "30s"}}, kBadDurations, "a duration such as 20us, 50ms or 1.5s, 0 or more"},
    {"ROLLCALL_MISMATCH_PROBE",
     {{"100us", "100us"}, {"1s", "1s"}},
     with(kBadDurations, {"0", "99us"}),
     "a duration such as 20us, 50ms or 1.5s, 100us or more"},
    {"ROLLCALL_LAUNCH_TIMEOUT", {{"0", "0"}, {"5min", "300s"}}, kBadDurations, "a duration such as 20us, 50ms or 1.5s, 0 or more"},
    {"ROLLCALL_HEARTBEAT", {{"0", "0"}, {"100ms", "100ms"}}, kBadDurations, "a duration such as 20us, 50ms or 1.5s, 0 or more"},
    {"ROLLCALL_SILENCE",
     {{"0", "0"}, {"100ms", "100ms"}, {"3s", "3s"}},
     with(kBadDurations, {"99ms", "1ns"}),
     "0, or a duration such as 20us, 50ms or 1.5s, 100ms or more"},
    {"ROLLCALL_PORT",
     {{"0", "0"}, {"29501", "29501"}, {"65535", "65535"}},
     with(kBadSizes, {"65536"}),
     "a number such as 123, 65535 or less; 0 = as the starter says"},
    {"ROLLCALL_OFI_PROVIDER", {{"tcp", "tcp"}, {"", ""}}, {}, "the name of a provider, as `rollcall info` shows it"},
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

/// Those above, and one for each operation whose algorithm can be set.
std::vector<Case> all_cases() {
    std::vector<Case> all = kCases;
    for (const OperationName& operation : kOperationNames)
        if (!operation.setting.empty())
            all.push_back({std::string(operation.setting),
                           {{"auto", "auto"}, {"binomial", "binomial"}},
                           {""},
                           "auto, or an algorithm that `rollcall info --algorithms` lists"});
    return all;
}

TEST(Settings, EveryVariableTakesItsGoodValues) {
    for (const auto& test : all_cases()) {
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
    for (const auto& test : all_cases()) {
        for (const auto& value : test.bad) {
            EXPECT_EQ(setting_refusal(test.variable, value), test.variable + "='" + value + "' is not allowed; allowed: " + test.allowed);
        }
    }
}

TEST(Settings, TheCasesAboveAreAllThereAre) {
    std::set<std::string> tested = {"ROLLCALL_NET"};
    for (const auto& test : all_cases()) tested.insert(test.variable);
    std::set<std::string> described;
    for (const auto& row : describe(Settings{})) described.insert(row.variable);
    EXPECT_EQ(tested, described);
}

TEST(Settings, StoreTheValuesWhereTheyBelong) {
    const auto settings =
        read({{"ROLLCALL_NET", "eth0,^10.0.0.0/8"}, {"ROLLCALL_LANDING_BYTES", "1Mi"},  {"ROLLCALL_LANDING_LONGEST", "64Ki"},
              {"ROLLCALL_EAGER_BYTES", "4Ki"},      {"ROLLCALL_SEGMENT_BYTES", "2Ki"},  {"ROLLCALL_BOARD_SLOTS", "77"},
              {"ROLLCALL_PROGRESS", "host"},        {"ROLLCALL_PROGRESS_BIND", "none"}, {"ROLLCALL_PROGRESS_TICK", "1ms"},
              {"ROLLCALL_PROGRESS_QUIET", "3ms"},   {"ROLLCALL_SPIN", "7us"},           {"ROLLCALL_YIELD", "never"},
              {"ROLLCALL_TIMEOUT", "2min"},         {"ROLLCALL_MISMATCH_PROBE", "1s"},  {"ROLLCALL_LAUNCH_TIMEOUT", "2s"},
              {"ROLLCALL_HEARTBEAT", "3s"},         {"ROLLCALL_SILENCE", "4s"},         {"ROLLCALL_PORT", "29501"},
              {"ROLLCALL_KEY_FILE", "/a/key"},      {"ROLLCALL_MUNGE_SOCKET", "/m"},    {"ROLLCALL_LOG", "debug"},
              {"ROLLCALL_TRANSPORT", "ucx"},        {"ROLLCALL_NODE_RANKS", "4"}});
    EXPECT_EQ(settings.node_ranks, 4u);
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
    EXPECT_EQ(settings.launch_timeout, 2'000'000'000);
    EXPECT_EQ(settings.heartbeat, 3'000'000'000);
    EXPECT_EQ(settings.silence, 4'000'000'000);
    EXPECT_EQ(settings.port, 29501u);
    EXPECT_EQ(settings.key_file, "/a/key");
    EXPECT_EQ(settings.munge_socket, "/m");
    EXPECT_EQ(settings.log, "debug");
    EXPECT_EQ(settings.transport, "ucx");
}

TEST(Settings, AnOperationsAlgorithmIsThatOfItsVariable) {
    for (const OperationName& operation : kOperationNames) {
        if (operation.setting.empty()) continue;
        const auto settings = read({{std::string(operation.setting), "linear"}});
        for (const OperationName& other : kOperationNames)
            EXPECT_EQ(settings.algorithms[index_of(other.kind)], other.kind == operation.kind ? "linear" : "auto") << other.name;
        const auto rows = describe(settings);
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.variable == operation.setting; });
        ASSERT_NE(row, rows.end());
        EXPECT_EQ(row->meaning, "algorithm of " + std::string(operation.name));
    }
}

TEST(Settings, NetIsCheckedByItsOwnParser) {
    EXPECT_EQ(read({{"ROLLCALL_NET", ""}}).net, "");
    EXPECT_EQ(setting_refusal("ROLLCALL_NET", "10.0.0.0/33"),
              "ROLLCALL_NET='10.0.0.0/33' is not allowed: '10.0.0.0/33' is not a network; allowed: a comma list of "
              "interfaces (eth0) "
              "and networks (10.0.0.0/8, fd00::/8), each excluded by a ^ before it (^docker0); empty = automatic");
}

TEST(Settings, AMisspeltVariableIsRefusedWithTheOneThatWasMeant) {
    for (const auto& [variable, meant] :
         std::vector<std::pair<std::string, std::string>>{{"ROLLCALL_SPINN", "ROLLCALL_SPIN"},
                                                          {"ROLLCALL_NTE", "ROLLCALL_NET"},
                                                          {"ROLLCALL_spin", "ROLLCALL_SPIN"},
                                                          {"ROLLCALL_LANDINGBITES", "ROLLCALL_LANDING_BYTES"},
                                                          {"ROLLCALL_BROADCAT", "ROLLCALL_BROADCAST"},
                                                          {"ROLLCALL_RANKS", "ROLLCALL_RANK"}}) {
        EXPECT_EQ(setting_refusal(variable, "1us"),
                  "'" + variable + "' is not a setting; did you mean " + meant + "? `rollcall info` lists the settings");
    }
}

TEST(Settings, AllWrongVariablesAreNamedAtOnce) {
    const Variables variables = {{"ROLLCALL_SPIN", "-1ms"}, {"ROLLCALL_YIELDS", "auto"}, {"ROLLCALL_ZONE", "x"}, {"ROLLCALL_PORT", "80"}};
    const std::string spin = "ROLLCALL_SPIN='-1ms' is not allowed; allowed: a duration such as 20us, 50ms or 1.5s, 0 or more",
                      yields = "'ROLLCALL_YIELDS' is not a setting; did you mean ROLLCALL_YIELD? `rollcall info` lists the settings";
    EXPECT_EQ(refusal(ErrorCode::invalid_setting, [&] { read(variables); }), "2 settings are wrong: (1) " + spin + "; (2) " + yields);
    const Environment environment(variables);
    std::vector<SettingTrouble> troubles;
    const Settings settings = Settings::from_environment(troubles);
    ASSERT_EQ(troubles.size(), 3u);
    EXPECT_EQ(troubles[0].variable, "ROLLCALL_SPIN");
    EXPECT_EQ(troubles[0].value, "-1ms");
    EXPECT_EQ(troubles[0].sentence, spin);
    EXPECT_EQ(troubles[1].sentence, yields);
    EXPECT_FALSE(troubles[2].wrong);
    EXPECT_EQ(settings.warnings, std::vector{troubles[2].sentence});
    EXPECT_EQ(settings.spin, Settings().spin) << "wrong settings have their defaults";
    EXPECT_EQ(settings.port, 80u);
}

TEST(Settings, AnUnknownVariableIsIgnoredWithAWarning) {
    const auto warning = [](const std::string& variable) {
        const auto warnings = read({{variable, "1"}}).warnings;
        return warnings.size() == 1 ? warnings.front() : std::to_string(warnings.size()) + " warnings";
    };
    for (const std::string variable : {"ROLLCALL_", "ROLLCALL_MODULE", "ROLLCALL_BOOTSTRAP", "ROLLCALL_TEST", "ROLLCALL_CXX"})
        EXPECT_EQ(warning(variable), "'" + variable + "' is not a setting and is ignored; `rollcall info` lists the settings");
    EXPECT_EQ(
        warning("ROLLCALL_LANDING"),
        "'ROLLCALL_LANDING' is not a setting and is ignored (did you mean ROLLCALL_LANDING_BYTES?); `rollcall info` lists the settings");
}

TEST(Settings, WhereRollcallIsInstalledIsNoSetting) {
    for (const char* variable : {"ROLLCALL_ROOT", "ROLLCALL_DIR", "ROLLCALL_HOME", "ROLLCALL_VERSION"})
        EXPECT_TRUE(read({{variable, "/opt/rollcall"}}).warnings.empty()) << variable;
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
