/// \file
/// Starting a job, on this host or on many.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rollcall/time.hpp>

#include "launcher/hosts/binding.hpp"
#include "launcher/hosts/hosts.hpp"
#include "launcher/hosts/placement.hpp"

namespace rollcall::launcher {

/// One program of a job. Ranks are numbered through all applications in their order.
struct Application {
    std::vector<std::string> argv;         ///< argv[0] is searched in PATH, on the host where it starts, unless it contains a slash.
    int ranks = 1;                         ///< At least 1.
    std::vector<std::string> environment;  ///< K=V, on top of LaunchOptions::environment.
};

/// Which ranks get the launcher's standard input.
enum class StandardInput { first, all, none };

/// How long the surviving ranks may report after a failure, before they are asked to end (SIGTERM), and how long they
/// may then take before they are killed. Surviving ranks hear of a failure within one second. Twice that leaves as
/// much time again to report it.
inline constexpr Timeout kDefaultGrace = std::chrono::seconds(2);
/// If nothing is heard of a host for this long, the host is lost. If an agent does not hear its launcher for this
/// long, the launcher is lost.
inline constexpr Timeout kDefaultSilence = std::chrono::seconds(3);
/// How long an agent on another host may take to answer.
inline constexpr Timeout kDefaultLaunchTimeout = std::chrono::seconds(60);
/// How many agents one station starts. If there are more, agents start further agents, in a tree.
inline constexpr int kDefaultFanout = 64;

/// The maximal number of ranks of a job. A larger number is more likely to be mistyped than meant.
inline constexpr int kMostRanks = 65536;
/// The value of LaunchOptions::max_failures with which all ranks may fail.
inline constexpr int kAllMayFail = kMostRanks;

struct LaunchOptions {
    std::vector<Application> applications;
    std::vector<std::string> environment;  ///< K=V, for all ranks, on top of this process's environment.
    std::vector<Host> hosts;               ///< Empty: this host, with any number of ranks.
    std::optional<int> per_node;           ///< Ranks on each host.
    bool oversubscribe = false;            ///< More ranks than slots are allowed.
    MapBy map_by = MapBy::slot;
    BindTo bind_to = BindTo::automatic;
    bool display_map = false;     ///< Write to standard error which rank runs where, before they start.
    std::string agent;            ///< The remote shell, see remote_command(); empty: ssh.
    int fanout = kDefaultFanout;  ///< 0: flat, the launcher starts all agents.
    std::string command;          ///< Path of `rollcall` on the hosts; empty: as here.
    std::string directory;        ///< Where the programs start, on all hosts; relative to where this process is, which is the default.
    StandardInput input = StandardInput::first;
    std::string output_directory;   ///< Each rank writes to files there; empty: to this process's output.
    bool tag_output = false;        ///< Each line of output begins with "[rank] ".
    bool timestamp_output = false;  ///< Each line of output begins with the time of day here at which it is passed on.
    Timeout timeout = kForever;     ///< The job is ended after this time.
    bool stack_traces = false;      ///< At the timeout, gdb (on the hosts that have it) writes where the ranks are.
    int max_failures = 0;           ///< So many ranks may fail, or be lost with their hosts, without ending the job.
    Timeout grace = kDefaultGrace;
    Timeout silence = kDefaultSilence;
    Timeout launch_timeout = kDefaultLaunchTimeout;
    bool all_must_join = false;  ///< Ranks that have not joined the job after launch_timeout end it.
};

/// Exit codes that are not a rank's own (a rank killed by signal n counts as 128 + n).
inline constexpr int kExitUsage = 2;
inline constexpr int kExitTimeout = 124;
inline constexpr int kExitHostLost = 125;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

/// Runs a job to its end and returns its exit code: 0, or that of the failure that ended the job, or one of the
/// above. If no failure ended it, because `options.max_failures` allowed them all, it is 0 if any rank ended well, and
/// otherwise that of the first failure. The output of the ranks goes to the standard output and error of this process.
/// The standard input of this process goes to the ranks that `options.input` names, by default rank 0. Standard error
/// says what went wrong. When the function returns, no process of the job is left on any host that can be reached,
/// whatever its ranks have started. On a host that cannot be reached, the agent ends the processes when it has not
/// heard from here for `silence`.
///
/// Two processes watch over a job on every host: here the caller of run() and a guard that it forks, on other hosts
/// the agent and its guard. If one of them dies, even by SIGKILL, the other ends at once what is there.
///
/// When a job ended badly, or a rank of it failed, run() removes those files in /dev/shm that appeared while it ran,
/// belong to this user, were seen open or mapped by a process of the job, and are used by no living process. It also
/// removes files with a name of UCX's own that appeared while the job ran and that no process uses. Files of others are
/// never touched, and files of a job that ended well stay. A file that is not UCX's is not removed if its creator died
/// within some milliseconds of making it.
///
/// While run() runs, SIGINT, SIGTERM, SIGHUP and SIGQUIT (unless ignored) end the job with 128 + n, and a second one
/// kills it. SIGTSTP stops the whole job, and SIGCONT lets it go on. SIGUSR1 and SIGUSR2 are passed to the ranks.
/// Call it from one thread at a time, and start no other child processes meanwhile. If `interrupted` is not null, it is set
/// to true when SIGINT came. Throws Error{invalid_argument, bootstrap}.
int run(const LaunchOptions& options, bool* interrupted = nullptr);

/// Describes for people what run() would start, and where: the map, each program, and how other hosts are reached.
/// Nothing is started. The processors of bound ranks are known for this host only. Throws as run().
std::string describe(const LaunchOptions& options);

/// Runs an agent: the process that `rollcall run` starts on other hosts, and that gets its order over standard input.
int run_agent();

}  // namespace rollcall::launcher
