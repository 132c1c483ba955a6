/// \file
/// Starting a job on this host.
#pragma once

#include <string>
#include <vector>

#include <rollcall/time.hpp>

namespace rollcall::launcher {

/// One program of a job. Ranks are numbered through all applications in their order.
struct Application {
    std::vector<std::string> argv;         ///< argv[0] is looked for in PATH unless it contains a slash.
    int ranks = 1;                         ///< At least 1.
    std::vector<std::string> environment;  ///< K=V, on top of LaunchOptions::environment.
};

enum class Bind {
    none,
    core,  ///< Each rank gets one processor of those this process may use, in turn; distinct cores before hyperthreads.
};

/// How long survivors of a failure may take to report before they are asked to end (SIGTERM), and how long they may
/// then take before they are killed. Survivors are promised the news within one second; twice that leaves as much to
/// write it down.
inline constexpr Timeout kDefaultGrace = std::chrono::seconds(2);

/// Most ranks of a job: beyond that a mistyped number is likelier than a machine.
inline constexpr int kMostRanks = 65536;

struct LaunchOptions {
    std::vector<Application> applications;
    std::vector<std::string> environment;  ///< K=V, for all ranks, on top of this process's environment.
    Bind bind = Bind::none;
    Timeout timeout = kForever;  ///< The job is ended after that.
    Timeout grace = kDefaultGrace;
    bool tag_output = false;  ///< Each line of output begins with "[rank] ".
};

/// Exit codes that are not a rank's own (a rank killed by signal n counts as 128 + n).
inline constexpr int kExitUsage = 2;
inline constexpr int kExitTimeout = 124;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

/// Runs a job to its end and returns its exit code: 0, or that of the first rank that ended badly, or one of the above.
/// Output of the ranks goes to this process's standard output and error, its standard input to rank 0; what went wrong
/// is said on standard error. When it returns no process of the job is left, whatever its ranks have started.
///
/// Two processes watch over a job: the caller of run() and a guard that it forks, whose children the ranks are. If one
/// of them dies, even by SIGKILL, the other ends the job at once.
///
/// Files in /dev/shm: when a job ended badly, those are removed that appeared while it ran, belong to this user, were
/// seen open or mapped by a process of the job, and are used by no living process. Others' files are never touched, and
/// a job that ended well keeps what it left. Not covered: a file whose creator died within some milliseconds of making
/// it.
///
/// While it runs, SIGINT, SIGTERM, SIGHUP and SIGQUIT (unless ignored) end the job with 128 + n; a second one kills it.
/// Call it from one thread at a time, and start no other child processes meanwhile.
int run(const LaunchOptions& options);

}  // namespace rollcall::launcher
