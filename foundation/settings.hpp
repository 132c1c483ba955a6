/// \file
/// All environment variables that configure Rollcall, as one typed and documented structure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rollcall/time.hpp>

#include "foundation/operation_kind.hpp"

namespace rollcall::inline foundation {

/// The names of the transports, in the order in which `auto` tries them.
inline constexpr std::array<std::string_view, 2> kTransportNames = {"ucx", "ofi"};

/// The value of a size that Rollcall chooses itself (`auto`).
inline constexpr std::uint64_t kAutomaticBytes = ~std::uint64_t{0};

enum class ProgressMode { thread, host };
enum class ProgressBind { application, none };

/// A variable that begins with ROLLCALL_ and has no effect, or stops every job.
struct SettingTrouble {
    std::string variable, value;
    std::string sentence;  ///< What is the matter with it.
    bool wrong = true;     ///< false: it is only ignored.
    bool is_set = true;    ///< false: the trouble is with what its default stands for.
};

/// The settings of one process. The defaults are the values below. The comment beside each member names the variable that sets it.
struct Settings {
    std::string transport = "ucx";  ///< ROLLCALL_TRANSPORT: one of kTransportNames, or auto, which takes the first that works
    std::string ofi_provider;  ///< ROLLCALL_OFI_PROVIDER: provider of libfabric; "" = shm within a host, the best there is between hosts
    std::string ofi_reads = "auto";  ///< ROLLCALL_OFI_READS: auto | always | no: RMA reads of long messages over libfabric
    std::string net;                 ///< ROLLCALL_NET: interfaces by name, CIDR, or ^exclusion; "" = automatic
    std::uint64_t landing_bytes =
        128ull << 20;  ///< ROLLCALL_LANDING_BYTES: early data held for this process, at most; the default holds sixteen messages of 8 MiB
    std::uint64_t landing_longest = 0;            ///< ROLLCALL_LANDING_LONGEST: longest message that is held; 0 = any
    std::uint64_t eager_bytes = kAutomaticBytes;  ///< ROLLCALL_EAGER_BYTES: longest message sent along with its header
    std::uint64_t segment_bytes = 128 << 10;      ///< ROLLCALL_SEGMENT_BYTES: piece of a pipelined transfer
    std::string node_memory = "auto";             ///< ROLLCALL_NODE_MEMORY: auto | no: ranks of a node share memory
    std::uint64_t node_ranks = 0;                 ///< ROLLCALL_NODE_RANKS: ranks of a host that share node memory, at most; 0 = all
    std::string single_copy = "auto";  ///< ROLLCALL_SINGLE_COPY: auto | always | no: receivers read long messages of their node directly
    std::string decouple = "auto";     ///< ROLLCALL_DECOUPLE: auto | no: parts of calls may begin before their callers
    std::string costs;                 ///< ROLLCALL_COSTS: the file of `rollcall tune`; "" = ~/.config/rollcall/costs; no = built-in
    std::uint64_t board_slots = 0;     ///< ROLLCALL_BOARD_SLOTS: arrival slots, all communicators; 0 = automatic
    ProgressMode progress = ProgressMode::thread;            ///< ROLLCALL_PROGRESS: thread | host
    ProgressBind progress_bind = ProgressBind::application;  ///< ROLLCALL_PROGRESS_BIND: application | none
    Nanoseconds progress_tick = 500'000;                     ///< ROLLCALL_PROGRESS_TICK: least time between two looks of that thread
    Nanoseconds progress_quiet = 2'000'000;       ///< ROLLCALL_PROGRESS_QUIET: time without events before the background thread sleeps
    Nanoseconds spin = 100'000;                   ///< ROLLCALL_SPIN: a waiting caller polls this long before it sleeps, and
                                                  ///< twenty times as long while no other program needs its core
    std::string yield = "auto";                   ///< ROLLCALL_YIELD: auto | always | never: yield between empty polls
    Nanoseconds timeout = 0;                      ///< ROLLCALL_TIMEOUT: deadline of every blocking call; 0 = none
    Nanoseconds mismatch_probe = 50'000'000;      ///< ROLLCALL_MISMATCH_PROBE: a call stuck this long asks the ranks that it waits for
    Nanoseconds launch_timeout = 60'000'000'000;  ///< ROLLCALL_LAUNCH_TIMEOUT: how long to wait until all ranks have come; 0 = no limit
    Nanoseconds heartbeat = 1'000'000'000;  ///< ROLLCALL_HEARTBEAT: interval of heartbeats between hosts, outside the transport; 0 = none
    Nanoseconds silence = 10'000'000'000;   ///< ROLLCALL_SILENCE: a host that is silent this long counts as lost; 0 = never
    std::uint64_t port = 0;                 ///< ROLLCALL_PORT: port on which rank 0 waits for the others; 0 = as the starter says
    std::string key_file;                   ///< ROLLCALL_KEY_FILE: "" = ~/.config/rollcall/key
    std::string munge_socket;               ///< ROLLCALL_MUNGE_SOCKET: where munged listens; "" = libmunge's default
    std::string log = "warning";            ///< ROLLCALL_LOG: debug | info | warning | error | off
    /// ROLLCALL_BROADCAST and so on (kOperationNames): the algorithm of each kind of operation.
    std::array<std::string, kOperationKinds> algorithms = [] {
        std::array<std::string, kOperationKinds> all;
        all.fill("auto");
        return all;
    }();

    /// One sentence for each variable that begins with ROLLCALL_, is not a setting, and is therefore ignored. One process of a job logs
    /// them.
    std::vector<std::string> warnings;

    /// Whether a rank's part in a collective call may begin before its caller comes and go on after its caller has left. This needs landing
    /// memory.
    bool decouples() const noexcept { return decouple != "no" && landing_bytes > 0; }

    /// Reads the environment. A value that is not allowed, and a variable whose name is a misspelt setting, are wrong. A wrong setting has
    /// its default. `troubles` gets all wrong variables and other unknown ones, which are also in `warnings`, in the order of their names.
    /// Some names are skipped: ROLLCALL_BOOTSTRAP_* (those of the launcher), ROLLCALL_TEST_* (those of the tests), and ROLLCALL_ROOT and
    /// similar ones (where Rollcall is installed).
    static Settings from_environment(std::vector<SettingTrouble>& troubles);
    /// Does the same, and throws the error of refuse_wrong().
    static Settings from_environment();
};

/// Throws Error{invalid_setting}, with one line that lists the allowed values, if a variable is wrong. If several are wrong, the line has
/// the sentences of all of them.
void refuse_wrong(const std::vector<SettingTrouble>& troubles);

/// One row of `rollcall info`.
struct SettingRow {
    std::string variable, value, source, allowed, meaning;  ///< source: "default" or "environment"
};

/// Returns all settings with their values and the source of each value, in the order of the structure.
std::vector<SettingRow> describe(const Settings& settings);

}  // namespace rollcall::inline foundation
