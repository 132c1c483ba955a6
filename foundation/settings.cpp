/// \file
/// All facts about a setting are in one table: its variable, where it is stored, the allowed values, and its meaning. The code that reads,
/// checks and describes settings loops over that table.
#include "foundation/settings.hpp"

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

#include "foundation/clock.hpp"
#include "foundation/interfaces.hpp"
#include "foundation/quote.hpp"
#include "foundation/spelling.hpp"
#include "foundation/units.hpp"

namespace rollcall::inline foundation {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// A size in bytes.
struct Size {
    std::uint64_t Settings::*member;
    std::uint64_t least, most;
};

/// A size in bytes, or `auto`, which is kept as kAutomaticBytes.
struct SizeOrAuto {
    std::uint64_t Settings::*member;
    std::uint64_t most;
};

/// A plain number. `zero` says what 0 means.
struct Count {
    std::uint64_t Settings::*member;
    std::uint64_t most;
    const char* zero;
};

/// A duration.
struct Duration {
    Nanoseconds Settings::*member;
    Nanoseconds least;
    const char* zero = "";  ///< "0, or " where 0 is allowed besides.
};

/// One of several words, stored as a word.
struct Word {
    std::string Settings::*member;
    std::span<const std::string_view> words;
};

/// One of several words, stored as an enumerator: words[i] is the name of the enumerator with the value i.
template <typename Enumeration>
struct Mode {
    Enumeration Settings::*member;
    std::span<const std::string_view> words;
};

/// A text that another function checks: `check` returns whether the text is valid, or throws the complete Error.
struct Text {
    std::string Settings::*member;
    bool (*check)(std::string_view);
    const char* allowed;
};

/// The name of an algorithm of this operation. The runtime does not know the collectives, so the name is checked where an algorithm is
/// selected.
struct AlgorithmOf {
    OperationKind operation;
};

using Kind = std::variant<Size, SizeOrAuto, Count, Duration, Word, Mode<ProgressMode>, Mode<ProgressBind>, Text, AlgorithmOf>;

struct Setting {
    std::string_view variable;
    Kind kind;
    std::string_view meaning;
};

constexpr std::array<std::string_view, 2> kProgressModes = {"thread", "host"};
constexpr std::array<std::string_view, 2> kProgressBinds = {"application", "none"};
constexpr std::array<std::string_view, 3> kYields = {"auto", "always", "never"};
constexpr std::array<std::string_view, 3> kAutoAlwaysNo = {"auto", "always", "no"};
constexpr std::array<std::string_view, 2> kAutoOrNo = {"auto", "no"};
constexpr auto kTransports = [] {
    std::array<std::string_view, kTransportNames.size() + 1> words{};
    std::copy(kTransportNames.begin(), kTransportNames.end(), words.begin());
    words.back() = "auto";
    return words;
}();
constexpr std::array<std::string_view, 5> kLogLevels = {"debug", "info", "warning", "error", "off"};

bool check_net(std::string_view text) {
    parse_net_setting(text);
    return true;
}
bool check_socket_path(std::string_view text) { return text.empty() || text.starts_with('/'); }
bool accept_any(std::string_view) { return true; }

// The settings in the order of the structure, without the algorithms of the operations.
constexpr std::array kFixedSettings = {
    Setting{"ROLLCALL_TRANSPORT", Word{&Settings::transport, kTransports},
            "how bytes move: by UCX, by libfabric, or (auto) by the first that works"},
    Setting{"ROLLCALL_OFI_PROVIDER", Text{&Settings::ofi_provider, accept_any, "the name of a provider, as `rollcall info` shows it"},
            "the provider of libfabric; empty = shm within a host, and between hosts the best one that is there"},
    Setting{"ROLLCALL_OFI_READS", Word{&Settings::ofi_reads, kAutoAlwaysNo},
            "over libfabric long messages are read out of their sender's memory; auto = where the network needs no help of the sender"},
    Setting{"ROLLCALL_NET", Text{&Settings::net, check_net, kNetSettingAllowed}, "network interfaces to use; empty = automatic"},
    Setting{
        "ROLLCALL_LANDING_BYTES", Size{&Settings::landing_bytes, 0, kNoLimit},
        "most memory for data that arrives before it is received; a message counts as 256 bytes or more; 0 = a sender waits to be asked"},
    Setting{"ROLLCALL_LANDING_LONGEST", Size{&Settings::landing_longest, 0, kNoLimit},
            "longest message that may arrive before it is received; a longer one waits at its sender until it is asked for; 0 = no limit"},
    // The upper limit: an eager message is copied on both sides, and the transport holds it in full.
    Setting{"ROLLCALL_EAGER_BYTES", SizeOrAuto{&Settings::eager_bytes, 1ull << 20},
            "longest message sent along with its header; auto = 64Ki to hosts that are reached over TCP, 8Ki to all others"},
    // The lower limit: a pipeline of pieces below a cache line would send only headers.
    Setting{"ROLLCALL_SEGMENT_BYTES", Size{&Settings::segment_bytes, 64, kNoLimit}, "piece of a pipelined transfer"},
    Setting{"ROLLCALL_DECOUPLE", Word{&Settings::decouple, kAutoOrNo},
            "auto = a rank's part in a collective call begins before its caller comes, and goes on after the caller has left; a send "
            "may end when its message has been copied"},
    Setting{"ROLLCALL_NODE_MEMORY", Word{&Settings::node_memory, kAutoOrNo},
            "collectives within a node go through memory that its ranks share; auto = where that is possible, no = by messages"},
    Setting{"ROLLCALL_NODE_RANKS", Count{&Settings::node_ranks, 1ull << 20, "all"},
            "how many ranks of a host share node memory, such as those of one socket, in the order of their numbers; 0 = all"},
    Setting{"ROLLCALL_SINGLE_COPY", Word{&Settings::single_copy, kAutoAlwaysNo},
            "whether a receiver copies long messages, and long blocks for one reader, straight out of the memory of their sender on"
            " the same node; always = all of them; no = none; auto = all of them if more ranks than cores share the node, otherwise"
            " only blocks above 1 MiB (in a scatter among three or more ranks: above 64 KiB)"},
    Setting{"ROLLCALL_COSTS", Text{&Settings::costs, accept_any, "a path, or no"},
            "what communication costs, as `rollcall tune` measured it; empty = ~/.config/rollcall/costs if it is there, no = built-in"},
    // The upper limit: more slots than this for each process can only be a mistake.
    Setting{"ROLLCALL_BOARD_SLOTS", Count{&Settings::board_slots, 1ull << 30, "automatic"},
            "places where ranks announce arrivals, for all communicators together; 0 = automatic"},
    Setting{"ROLLCALL_PROGRESS", Mode<ProgressMode>{&Settings::progress, kProgressModes},
            "what drives transfers while the application computes: a background thread, or the host program"},
    Setting{"ROLLCALL_PROGRESS_BIND", Mode<ProgressBind>{&Settings::progress_bind, kProgressBinds},
            "where the background thread runs: on the application's core, or anywhere"},
    // The lower limit: a shorter tick would be the same as polling.
    Setting{"ROLLCALL_PROGRESS_TICK", Duration{&Settings::progress_tick, 10 * kMicrosecond},
            "least time between two looks of the background thread; it looks every one to two ticks"},
    Setting{"ROLLCALL_PROGRESS_QUIET", Duration{&Settings::progress_quiet, 0},
            "silence after which the background thread sleeps until something arrives"},
    Setting{"ROLLCALL_SPIN", Duration{&Settings::spin, 0},
            "how long a waiting caller polls before it sleeps; twenty times as long while no other program needs its core"},
    Setting{"ROLLCALL_YIELD", Word{&Settings::yield, kYields},
            "yield the core between empty polls; auto = when more ranks than cores share the node"},
    Setting{"ROLLCALL_TIMEOUT", Duration{&Settings::timeout, 0}, "deadline of every blocking call, but not of the start; 0 = none"},
    // The lower limit: with a shorter time, calls that are only slow would send probes.
    Setting{"ROLLCALL_MISMATCH_PROBE", Duration{&Settings::mismatch_probe, 100 * kMicrosecond},
            "a call that has waited this long asks the ranks it waits for what they have called"},
    Setting{"ROLLCALL_LAUNCH_TIMEOUT", Duration{&Settings::launch_timeout, 0},
            "how long a rank waits at the start until all others have come, if `rollcall run` did not start it; 0 = without end"},
    Setting{"ROLLCALL_HEARTBEAT", Duration{&Settings::heartbeat, 0},
            "time between heartbeats of hosts, if `rollcall run` did not start the job, and of those of connected jobs; 0 = none"},
    Setting{"ROLLCALL_SILENCE", Duration{&Settings::silence, 100 * kMillisecond, "0, or "},
            "a host is lost after this time without a heartbeat (under `rollcall run`, see `--silence`), or without an answer to probes "
            "over the data's network; 0 = never"},
    Setting{"ROLLCALL_PORT", Count{&Settings::port, 65535, "as the starter says"},
            "TCP port where rank 0 waits for the others; 0 = as the starter says"},
    Setting{"ROLLCALL_KEY_FILE", Text{&Settings::key_file, accept_any, "a path"},
            "secret of this user, for starters that have none; empty = ~/.config/rollcall/key"},
    Setting{"ROLLCALL_MUNGE_SOCKET", Text{&Settings::munge_socket, check_socket_path, "an absolute path; empty = libmunge's default"},
            "under plain srun: where munged listens"},
    Setting{"ROLLCALL_LOG", Word{&Settings::log, kLogLevels}, "least severe message that is logged"},
};

/// All fixed settings, and one setting for each operation that has several algorithms.
const std::vector<Setting>& all_settings() {
    static const std::vector<Setting> all = [] {
        std::vector<Setting> settings(kFixedSettings.begin(), kFixedSettings.end());
        for (const OperationName& operation : kOperationNames)
            if (!operation.setting.empty()) settings.push_back({operation.setting, AlgorithmOf{operation.kind}, ""});
        return settings;
    }();
    return all;
}

/// Variables that tell a process its place in the job (starters/directory.hpp). They are not settings.
constexpr std::array<std::string_view, 4> kPlaces = {"ROLLCALL_RENDEZVOUS", "ROLLCALL_RANK", "ROLLCALL_SIZE", "ROLLCALL_JOB_ID"};

/// Prefixes of variables that are read elsewhere: by the launcher and by the tests.
constexpr std::array<std::string_view, 2> kForeign = {"ROLLCALL_BOOTSTRAP_", "ROLLCALL_TEST_"};

/// Variables that CMake, module systems and package managers set to say where Rollcall is installed.
constexpr std::array<std::string_view, 5> kInstallation = {"ROLLCALL_ROOT", "ROLLCALL_DIR", "ROLLCALL_HOME", "ROLLCALL_PREFIX",
                                                           "ROLLCALL_VERSION"};

constexpr std::string_view kPrefix = "ROLLCALL_";

// Describe the allowed values of a setting, for errors and for `rollcall info`.
std::string allowed(const Size& size) {
    const auto form = "a size such as 123, 64Ki or 8MiB";
    if (size.least > 0 && size.most < kNoLimit)
        return fmt::format("{}, from {} to {}", form, format_bytes(size.least), format_bytes(size.most));
    if (size.least > 0) return fmt::format("{}, {} or more", form, format_bytes(size.least));
    if (size.most < kNoLimit) return fmt::format("{}, {} or less", form, format_bytes(size.most));
    return form;
}
std::string allowed(const SizeOrAuto& size) {
    return fmt::format("auto, or a size such as 123 or 64Ki, {} or less", format_bytes(size.most));
}
std::string allowed(const Count& count) {
    const auto more = count.most >> 16 ? " or 64Ki" : "";
    return fmt::format("a number such as 123{}, {} or less; 0 = {}", more, format_bytes(count.most), count.zero);
}
std::string allowed(const Duration& duration) {
    return fmt::format("{}a duration such as 20us, 50ms or 1.5s, {} or more", duration.zero, exact_duration(duration.least));
}
std::string allowed(const Word& word) { return fmt::format("{}", fmt::join(word.words, ", ")); }
template <typename Enumeration>
std::string allowed(const Mode<Enumeration>& mode) {
    return fmt::format("{}", fmt::join(mode.words, ", "));
}
std::string allowed(const Text& text) { return text.allowed; }
std::string allowed(const AlgorithmOf&) { return "auto, or an algorithm that `rollcall info --algorithms` lists"; }

// Read a setting. Store the value and return true if the value is allowed. Otherwise return false, or throw Error.
bool read(const Size& size, std::string_view text, Settings& settings) {
    const auto bytes = parse_bytes(text);
    settings.*size.member = bytes;
    return bytes >= size.least && bytes <= size.most;
}
bool read(const SizeOrAuto& size, std::string_view text, Settings& settings) {
    settings.*size.member = text == "auto" ? kAutomaticBytes : parse_bytes(text);
    return text == "auto" || settings.*size.member <= size.most;
}
bool read(const Count& count, std::string_view text, Settings& settings) {
    const auto number = parse_bytes(text);
    settings.*count.member = number;
    return number <= count.most && !text.ends_with('B');
}
bool read(const Duration& duration, std::string_view text, Settings& settings) {
    const Nanoseconds time = settings.*duration.member = parse_duration(text);
    return time >= duration.least || (*duration.zero && time == 0);
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
bool read(const AlgorithmOf& kind, std::string_view text, Settings& settings) {
    settings.algorithms[index_of(kind.operation)] = text;
    return !text.empty();
}

// Write the value of a setting in the form in which it may be set.
std::string write(const Size& size, const Settings& settings) { return format_bytes(settings.*size.member); }
std::string write(const SizeOrAuto& size, const Settings& settings) {
    return settings.*size.member == kAutomaticBytes ? "auto" : format_bytes(settings.*size.member);
}
std::string write(const Count& count, const Settings& settings) { return fmt::to_string(settings.*count.member); }
std::string write(const Duration& duration, const Settings& settings) { return exact_duration(settings.*duration.member); }
std::string write(const Word& word, const Settings& settings) { return settings.*word.member; }
template <typename Enumeration>
std::string write(const Mode<Enumeration>& mode, const Settings& settings) {
    return std::string(mode.words[static_cast<std::size_t>(settings.*mode.member)]);
}
std::string write(const Text& text, const Settings& settings) { return settings.*text.member; }
std::string write(const AlgorithmOf& kind, const Settings& settings) { return settings.algorithms[index_of(kind.operation)]; }

std::string allowed_of(const Setting& setting) {
    return std::visit([](const auto& kind) { return allowed(kind); }, setting.kind);
}

std::string meaning_of(const Setting& setting) {
    const auto* algorithm = std::get_if<AlgorithmOf>(&setting.kind);
    return algorithm ? fmt::format("algorithm of {}", name(algorithm->operation)) : std::string(setting.meaning);
}

/// Reads a value that the environment has for a setting. Returns what is wrong with the value, or "".
std::string read(const Setting& setting, std::string_view value, Settings& settings) {
    const Settings before = settings;
    std::string wrong;
    try {
        if (std::visit([&](const auto& kind) { return read(kind, value, settings); }, setting.kind)) return {};
    } catch (const Error& error) {
        // The parser of sizes and durations refuses by another code. The sentence below says more than it: it lists the allowed values.
        if (error.code() != ErrorCode::invalid_argument) wrong = error.what();
    }
    settings = before;
    if (!wrong.empty()) return wrong;
    return fmt::format("{}={} is not allowed; allowed: {}", setting.variable, quote(value), allowed_of(setting));
}

std::string in_capitals(std::string_view text) {
    std::string capitals(text);
    for (char& letter : capitals)
        if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    return capitals;
}

/// Judges a variable that is not a setting. It is wrong if it is a misspelt setting.
SettingTrouble judge_unknown(std::string_view variable, std::string_view value) {
    SettingTrouble trouble{.variable = std::string(variable), .value = std::string(value), .sentence = {}};
    const std::string capitals = in_capitals(variable);
    std::vector<std::string_view> names;
    for (const auto& setting : all_settings()) names.push_back(setting.variable);
    names.insert(names.end(), kPlaces.begin(), kPlaces.end());
    auto [nearest, fewest] = nearest_to(capitals, names);
    const auto own = variable.substr(kPrefix.size());
    if (is_misspelt(fewest, own.size())) {
        trouble.sentence =
            fmt::format("{} is not a setting; did you mean {}? `rollcall info` lists the settings", quote(variable), nearest);
        return trouble;
    }
    // The user may have meant a setting whose name begins with this one, or one that differs in at most a third of the letters.
    for (const auto& setting : all_settings()) {
        if (own.size() > 2 && setting.variable.starts_with(capitals)) {
            nearest = setting.variable;
            fewest = 0;
            break;
        }
    }
    trouble.wrong = false;
    trouble.sentence = fmt::format("{} is not a setting and is ignored{}; `rollcall info` lists the settings", quote(variable),
                                   fewest <= own.size() / 3 ? fmt::format(" (did you mean {}?)", nearest) : "");
    return trouble;
}

}  // namespace

Settings Settings::from_environment(std::vector<SettingTrouble>& troubles) {
    Settings settings;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const auto equals = text.find('=');
        if (!text.starts_with(kPrefix) || equals == std::string_view::npos) continue;
        const auto variable = text.substr(0, equals);
        const auto value = text.substr(equals + 1);
        const auto starts_variable = [&](std::string_view prefix) { return variable.starts_with(prefix); };
        if (std::any_of(kForeign.begin(), kForeign.end(), starts_variable)) continue;
        if (std::find(kPlaces.begin(), kPlaces.end(), variable) != kPlaces.end()) continue;
        if (std::find(kInstallation.begin(), kInstallation.end(), variable) != kInstallation.end()) continue;

        const auto& known = all_settings();
        const auto setting =
            std::find_if(known.begin(), known.end(), [&](const Setting& candidate) { return candidate.variable == variable; });
        if (setting == known.end()) {
            troubles.push_back(judge_unknown(variable, value));
            if (!troubles.back().wrong) settings.warnings.push_back(troubles.back().sentence);
        } else if (std::string wrong = read(*setting, value, settings); !wrong.empty()) {
            troubles.push_back({.variable = std::string(variable), .value = std::string(value), .sentence = std::move(wrong)});
        }
    }
    std::ranges::sort(troubles, {}, &SettingTrouble::variable);
    return settings;
}

Settings Settings::from_environment() {
    std::vector<SettingTrouble> troubles;
    Settings settings = from_environment(troubles);
    refuse_wrong(troubles);
    return settings;
}

void refuse_wrong(const std::vector<SettingTrouble>& troubles) {
    std::vector<std::string_view> sentences;
    for (const SettingTrouble& trouble : troubles)
        if (trouble.wrong) sentences.push_back(trouble.sentence);
    if (sentences.empty()) return;
    if (sentences.size() == 1) throw Error(ErrorCode::invalid_setting, std::string(sentences.front()));
    std::string all = fmt::format("{} settings are wrong", sentences.size());
    for (std::size_t i = 0; i < sentences.size(); ++i) all += fmt::format("{} ({}) {}", i == 0 ? ":" : ";", i + 1, sentences[i]);
    throw Error(ErrorCode::invalid_setting, all);
}

std::vector<SettingRow> describe(const Settings& settings) {
    std::vector<SettingRow> rows;
    rows.reserve(all_settings().size());
    for (const auto& setting : all_settings()) {
        const std::string variable(setting.variable);
        rows.push_back({.variable = variable,
                        .value = std::visit([&](const auto& kind) { return write(kind, settings); }, setting.kind),
                        .source = std::getenv(variable.c_str()) != nullptr ? "environment" : "default",
                        .allowed = allowed_of(setting),
                        .meaning = meaning_of(setting)});
    }
    return rows;
}

}  // namespace rollcall::inline foundation
