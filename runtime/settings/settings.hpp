/// \file
/// Every environment variable Rollcall reads, as one typed, documented structure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rollcall/time.hpp>

namespace rollcall::runtime {

enum class ProgressMode { thread, host };
enum class ProgressBind { application, none };

/// The settings of one process. Defaults are the values below; each can be set by the variable named beside it.
struct Settings {
    std::string transport = "ucx";  ///< ROLLCALL_TRANSPORT: ucx
    std::string net;                ///< ROLLCALL_NET: interfaces by name, CIDR, or ^exclusion; "" = automatic
    std::uint64_t landing_bytes =
        128ull << 20;  ///< ROLLCALL_LANDING_BYTES: early data held for this process, at most; the default holds sixteen messages of 8 MiB
    std::uint64_t landing_longest = 0;                       ///< ROLLCALL_LANDING_LONGEST: longest message that is held; 0 = any
    std::uint64_t eager_bytes = 8192;                        ///< ROLLCALL_EAGER_BYTES: longest message sent along with its header
    std::uint64_t segment_bytes = 128 << 10;                 ///< ROLLCALL_SEGMENT_BYTES: piece of a pipelined transfer
    std::uint64_t board_slots = 0;                           ///< ROLLCALL_BOARD_SLOTS: arrival slots, all communicators; 0 = automatic
    ProgressMode progress = ProgressMode::thread;            ///< ROLLCALL_PROGRESS: thread | host
    ProgressBind progress_bind = ProgressBind::application;  ///< ROLLCALL_PROGRESS_BIND: application | none
    Nanoseconds progress_tick = 500'000;                     ///< ROLLCALL_PROGRESS_TICK: between looks of the background thread
    Nanoseconds progress_quiet = 2'000'000;                  ///< ROLLCALL_PROGRESS_QUIET: silence before it arms and sleeps
    Nanoseconds spin = 100'000;                              ///< ROLLCALL_SPIN: a waiting caller polls this long before it sleeps
    std::string yield = "auto";                              ///< ROLLCALL_YIELD: auto | always | never: yield between empty polls
    Nanoseconds timeout = 0;                                 ///< ROLLCALL_TIMEOUT: deadline of every blocking call; 0 = none
    Nanoseconds mismatch_probe = 50'000'000;                 ///< ROLLCALL_MISMATCH_PROBE: a call stuck this long asks whom it waits for
    std::string broadcast = "auto";                          ///< ROLLCALL_BROADCAST: algorithm of broadcast
    std::string scatter = "auto";                            ///< ROLLCALL_SCATTER: algorithm of scatter
    std::string gather = "auto";                             ///< ROLLCALL_GATHER: algorithm of gather
    std::string barrier = "auto";                            ///< ROLLCALL_BARRIER: algorithm of barrier
    Nanoseconds launch_timeout = 60'000'000'000;             ///< ROLLCALL_LAUNCH_TIMEOUT: until all ranks have come; 0 = none
    Nanoseconds heartbeat = 1'000'000'000;                   ///< ROLLCALL_HEARTBEAT: between hosts, outside the transport; 0 = none
    Nanoseconds silence = 10'000'000'000;                    ///< ROLLCALL_SILENCE: a host not heard of for so long is lost; 0 = never
    std::uint64_t port = 0;                                  ///< ROLLCALL_PORT: where rank 0 waits for the others; 0 = as the starter says
    std::string key_file;                                    ///< ROLLCALL_KEY_FILE: "" = ~/.config/rollcall/key
    std::string munge_socket;                                ///< ROLLCALL_MUNGE_SOCKET: where munged listens; "" = libmunge's default
    std::string log = "warning";                             ///< ROLLCALL_LOG: debug | info | warning | error | off

    /// Reads the environment. Throws Error{invalid_setting}, in one line that lists what is allowed, for a wrong value and
    /// for an unknown variable that begins with ROLLCALL_ (the launcher's own, ROLLCALL_BOOTSTRAP_*, and the tests',
    /// ROLLCALL_TEST_*, are let through).
    static Settings from_environment();
};

/// One row of `rollcall info`.
struct SettingRow {
    std::string variable, value, source, allowed, meaning;  ///< source: "default" or "environment"
};

/// All settings with their values and where they came from, in the order of the structure.
std::vector<SettingRow> describe(const Settings& settings);

/// "64Ki", "8Mi", "1k", "123" to bytes (Ki, Mi, Gi, Ti binary; k, M, G, T decimal; an optional trailing B). Throws Error{invalid_argument}
/// naming the text.
std::uint64_t parse_bytes(std::string_view text);
/// "50ms", "1.5s", "20us", "100ns", "2min", "0" to nanoseconds. Throws Error{invalid_argument} naming the text.
Nanoseconds parse_duration(std::string_view text);
/// The shortest exact text of a size: 65536 is "64Ki".
std::string format_bytes(std::uint64_t bytes);
/// Three significant digits with a unit: "12.3 us".
std::string format_duration(double seconds);

}  // namespace rollcall::runtime
