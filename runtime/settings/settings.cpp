/// \file
/// One table says everything about a setting: its variable, where it is kept, what is allowed, and what it means.
/// Reading, checking and describing are loops over that table.
#include "runtime/settings/settings.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <span>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "runtime/settings/quote.hpp"
#include "runtime/topology/interfaces.hpp"

namespace rollcall::runtime {
namespace {

constexpr Nanoseconds kMicrosecond = 1'000;
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// A size in bytes.
struct Size {
    std::uint64_t Settings::*member;
    std::uint64_t least, most;
};

/// A plain number; `zero` says what 0 means.
struct Count {
    std::uint64_t Settings::*member;
    std::uint64_t most;
    const char* zero;
};

/// A duration.
struct Duration {
    Nanoseconds Settings::*member;
    Nanoseconds least;
};

/// One of a few words, kept as the word.
struct Word {
    std::string Settings::*member;
    std::span<const std::string_view> words;
};

/// One of a few words, kept as an enumerator: words[i] is the enumerator of value i.
template <typename Enumeration>
struct Mode {
    Enumeration Settings::*member;
    std::span<const std::string_view> words;
};

/// A text that somebody else knows how to check: `check` says whether it is good, or throws the complete Error.
struct Text {
    std::string Settings::*member;
    bool (*check)(std::string_view);
    const char* allowed;
};

using Kind = std::variant<Size, Count, Duration, Word, Mode<ProgressMode>, Mode<ProgressBind>, Text>;

struct Setting {
    std::string_view variable;
    Kind kind;
    std::string_view meaning;
};

constexpr std::array<std::string_view, 1> kTransports = {"ucx"};
constexpr std::array<std::string_view, 2> kProgressModes = {"thread", "host"};
constexpr std::array<std::string_view, 2> kProgressBinds = {"application", "none"};
constexpr std::array<std::string_view, 3> kYields = {"auto", "always", "never"};
constexpr std::array<std::string_view, 5> kLogLevels = {"debug", "info", "warning", "error", "off"};

bool check_net(std::string_view text) {
    parse_net_setting(text);
    return true;
}

bool check_socket_path(std::string_view text) { return text.empty() || text.starts_with('/'); }

/// The runtime does not know the collectives: their names are checked where an algorithm is selected.
bool check_algorithm(std::string_view text) { return !text.empty(); }
bool check_path(std::string_view) { return true; }
constexpr auto kAlgorithms = "auto, or an algorithm that `rollcall info --algorithms` lists";

// In the order of the structure.
constexpr std::array kSettings = {
    Setting{"ROLLCALL_TRANSPORT", Word{&Settings::transport, kTransports}, "how bytes move"},
    Setting{"ROLLCALL_NET", Text{&Settings::net, check_net, kNetSettingAllowed}, "network interfaces to use; empty = automatic"},
    Setting{"ROLLCALL_LANDING_BYTES", Size{&Settings::landing_bytes, 0, kNoLimit},
            "early data held for this process, at most; 0 = a sender waits until its data is asked for"},
    Setting{"ROLLCALL_LANDING_LONGEST", Size{&Settings::landing_longest, 0, kNoLimit},
            "longest message that is held early; a longer one waits at its sender, as over the eager limit of MPI; 0 = of any length"},
    // The longest: an eager message is copied on both sides and held in full by the transport.
    Setting{"ROLLCALL_EAGER_BYTES", Size{&Settings::eager_bytes, 0, 1ull << 20}, "longest message sent along with its header"},
    // The shortest: below a cache line a pipeline would only send headers.
    Setting{"ROLLCALL_SEGMENT_BYTES", Size{&Settings::segment_bytes, 64, kNoLimit}, "piece of a pipelined transfer"},
    // The most: more than that many slots per process is a mistake, not a board.
    Setting{"ROLLCALL_BOARD_SLOTS", Count{&Settings::board_slots, 1ull << 30, "automatic"}, "arrival slots, of all communicators together"},
    Setting{"ROLLCALL_PROGRESS", Mode<ProgressMode>{&Settings::progress, kProgressModes},
            "who drives transfers while the application computes: a background thread, or the host program"},
    Setting{"ROLLCALL_PROGRESS_BIND", Mode<ProgressBind>{&Settings::progress_bind, kProgressBinds},
            "where the background thread runs: on the application's core, or anywhere"},
    // A shorter tick than this would be polling.
    Setting{"ROLLCALL_PROGRESS_TICK", Duration{&Settings::progress_tick, 10 * kMicrosecond},
            "time between two looks of the background thread"},
    Setting{"ROLLCALL_PROGRESS_QUIET", Duration{&Settings::progress_quiet, 0},
            "silence after which the background thread sleeps until something arrives"},
    Setting{"ROLLCALL_SPIN", Duration{&Settings::spin, 0}, "how long a waiting caller polls before it sleeps"},
    Setting{"ROLLCALL_YIELD", Word{&Settings::yield, kYields},
            "yield the core between empty polls; auto = when more ranks than cores share the node"},
    Setting{"ROLLCALL_TIMEOUT", Duration{&Settings::timeout, 0}, "deadline of every blocking call; 0 = none"},
    // Sooner than this the question would be asked in calls that are merely slow.
    Setting{"ROLLCALL_MISMATCH_PROBE", Duration{&Settings::mismatch_probe, 100 * kMicrosecond},
            "a call stuck for this long asks whom it waits for"},
    Setting{"ROLLCALL_BROADCAST", Text{&Settings::broadcast, check_algorithm, kAlgorithms}, "algorithm of broadcast"},
    Setting{"ROLLCALL_SCATTER", Text{&Settings::scatter, check_algorithm, kAlgorithms}, "algorithm of scatter"},
    Setting{"ROLLCALL_GATHER", Text{&Settings::gather, check_algorithm, kAlgorithms}, "algorithm of gather"},
    Setting{"ROLLCALL_BARRIER", Text{&Settings::barrier, check_algorithm, kAlgorithms}, "algorithm of barrier"},
    Setting{"ROLLCALL_LAUNCH_TIMEOUT", Duration{&Settings::launch_timeout, 0},
            "how long a rank waits for all others to come, where `rollcall run` did not start it; 0 = without end"},
    Setting{"ROLLCALL_HEARTBEAT", Duration{&Settings::heartbeat, 0}, "time between signs of life between hosts; 0 = none"},
    Setting{"ROLLCALL_SILENCE", Duration{&Settings::silence, 0}, "a host that gave no sign of life for so long is lost; 0 = never"},
    Setting{"ROLLCALL_PORT", Count{&Settings::port, 65535, "as the starter says"}, "TCP port where rank 0 waits for the others"},
    Setting{"ROLLCALL_KEY_FILE", Text{&Settings::key_file, check_path, "a path"},
            "secret of this user, for starters that have none; empty = ~/.config/rollcall/key"},
    Setting{"ROLLCALL_MUNGE_SOCKET", Text{&Settings::munge_socket, check_socket_path, "an absolute path; empty = libmunge's default"},
            "under plain srun: where munged listens"},
    Setting{"ROLLCALL_LOG", Word{&Settings::log, kLogLevels}, "least severe message that is logged"},
};

/// Variables that tell a process its place (starters/directory.hpp): no settings.
constexpr std::array<std::string_view, 4> kPlaces = {"ROLLCALL_RENDEZVOUS", "ROLLCALL_RANK", "ROLLCALL_SIZE", "ROLLCALL_JOB_ID"};

/// Variables of others: the launcher's own and the tests'.
constexpr std::array<std::string_view, 2> kForeign = {"ROLLCALL_BOOTSTRAP_", "ROLLCALL_TEST_"};

/// A duration as it may be written in a variable; exact, unlike format_duration().
std::string exact_duration(Nanoseconds duration) {
    struct Unit {
        Nanoseconds factor;
        const char* name;
    };
    static constexpr std::array kUnits = {Unit{1'000'000'000, "s"}, Unit{1'000'000, "ms"}, Unit{1'000, "us"}};
    if (duration == 0) return "0";
    for (const auto& unit : kUnits) {
        if (duration % unit.factor == 0) return fmt::format("{}{}", duration / unit.factor, unit.name);
    }
    return fmt::format("{}ns", duration);
}

// What is allowed, in words, for errors and for `rollcall info`.
std::string allowed(const Size& size) {
    const auto form = "a size such as 123, 64Ki or 8MiB";
    if (size.least > 0 && size.most < kNoLimit) {
        return fmt::format("{}, from {} to {}", form, format_bytes(size.least), format_bytes(size.most));
    }
    if (size.least > 0) return fmt::format("{}, {} or more", form, format_bytes(size.least));
    if (size.most < kNoLimit) return fmt::format("{}, {} or less", form, format_bytes(size.most));
    return form;
}
std::string allowed(const Count& count) {
    return fmt::format("a number such as 123 or 64Ki, {} or less; 0 = {}", format_bytes(count.most), count.zero);
}
std::string allowed(const Duration& duration) {
    return fmt::format("a duration such as 20us, 50ms or 1.5s, {} or more", exact_duration(duration.least));
}
std::string allowed(const Word& word) { return fmt::format("{}", fmt::join(word.words, ", ")); }
template <typename Enumeration>
std::string allowed(const Mode<Enumeration>& mode) {
    return fmt::format("{}", fmt::join(mode.words, ", "));
}
std::string allowed(const Text& text) { return text.allowed; }

// Reading: stores the value and returns true, or returns false, or throws Error, when it is not allowed.
bool read(const Size& size, std::string_view text, Settings& settings) {
    const auto bytes = parse_bytes(text);
    settings.*size.member = bytes;
    return bytes >= size.least && bytes <= size.most;
}
bool read(const Count& count, std::string_view text, Settings& settings) {
    const auto number = parse_bytes(text);
    settings.*count.member = number;
    return number <= count.most && !text.ends_with('B');
}
bool read(const Duration& duration, std::string_view text, Settings& settings) {
    settings.*duration.member = parse_duration(text);
    return settings.*duration.member >= duration.least;
}
bool read(const Word& word, std::string_view text, Settings& settings) {
    settings.*word.member = text;
    return std::find(word.words.begin(), word.words.end(), text) != word.words.end();
}
template <typename Enumeration>
bool read(const Mode<Enumeration>& mode, std::string_view text, Settings& settings) {
    const auto found = std::find(mode.words.begin(), mode.words.end(), text);
    settings.*mode.member = static_cast<Enumeration>(found - mode.words.begin());
    return found != mode.words.end();
}
bool read(const Text& kind, std::string_view text, Settings& settings) {
    settings.*kind.member = text;
    return kind.check(text);
}

// Writing: the value as it may be set.
std::string write(const Size& size, const Settings& settings) { return format_bytes(settings.*size.member); }
std::string write(const Count& count, const Settings& settings) { return fmt::to_string(settings.*count.member); }
std::string write(const Duration& duration, const Settings& settings) { return exact_duration(settings.*duration.member); }
std::string write(const Word& word, const Settings& settings) { return settings.*word.member; }
template <typename Enumeration>
std::string write(const Mode<Enumeration>& mode, const Settings& settings) {
    return std::string(mode.words[static_cast<std::size_t>(settings.*mode.member)]);
}
std::string write(const Text& text, const Settings& settings) { return settings.*text.member; }

std::string allowed_of(const Setting& setting) {
    return std::visit([](const auto& kind) { return allowed(kind); }, setting.kind);
}

[[noreturn]] void refuse_value(const Setting& setting, std::string_view value) {
    throw Error(ErrorCode::invalid_setting,
                fmt::format("{}={} is not allowed; allowed: {}", setting.variable, quote(value), allowed_of(setting)));
}

[[noreturn]] void refuse_variable(std::string_view variable) {
    std::string known;
    for (const auto& setting : kSettings) {
        if (!known.empty()) known += ", ";
        known += setting.variable;
    }
    throw Error(ErrorCode::invalid_setting, fmt::format("{} is not a setting; the settings are: {}", quote(variable), known));
}

}  // namespace

Settings Settings::from_environment() {
    Settings settings;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const auto equals = text.find('=');
        if (!text.starts_with("ROLLCALL_") || equals == std::string_view::npos) continue;
        const auto variable = text.substr(0, equals);
        const auto value = text.substr(equals + 1);
        const auto starts_variable = [&](std::string_view prefix) { return variable.starts_with(prefix); };
        if (std::any_of(kForeign.begin(), kForeign.end(), starts_variable)) continue;
        if (std::find(kPlaces.begin(), kPlaces.end(), variable) != kPlaces.end()) continue;

        const auto setting =
            std::find_if(kSettings.begin(), kSettings.end(), [&](const Setting& candidate) { return candidate.variable == variable; });
        if (setting == kSettings.end()) refuse_variable(variable);
        bool good = false;
        try {
            good = std::visit([&](const auto& kind) { return read(kind, value, settings); }, setting->kind);
        } catch (const Error& error) {
            // Sizes and durations: the setting's own list, which follows, says more than the parser's.
            if (error.code() != ErrorCode::invalid_argument) throw;
        }
        if (!good) refuse_value(*setting, value);
    }
    return settings;
}

std::vector<SettingRow> describe(const Settings& settings) {
    std::vector<SettingRow> rows;
    rows.reserve(kSettings.size());
    for (const auto& setting : kSettings) {
        const std::string variable(setting.variable);
        rows.push_back({.variable = variable,
                        .value = std::visit([&](const auto& kind) { return write(kind, settings); }, setting.kind),
                        .source = std::getenv(variable.c_str()) != nullptr ? "environment" : "default",
                        .allowed = allowed_of(setting),
                        .meaning = std::string(setting.meaning)});
    }
    return rows;
}

}  // namespace rollcall::runtime
