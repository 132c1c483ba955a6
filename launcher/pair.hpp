/// \file
/// Two processes that watch over a job: if one of them dies, even by SIGKILL, the other ends what it left.
#pragma once

#include <atomic>
#include <functional>

#include <rollcall/time.hpp>

#include "foundation/descriptor.hpp"
#include "launcher/processes/spawn.hpp"

namespace rollcall::launcher {

/// What the guard gets from the front, which is the process that forked it.
struct Guarded {
    Inherited inherited;
    Descriptor commands;  ///< From the front: a byte for each signal it got. To it: Leftovers::Found.
    Descriptor front;     ///< A pidfd, which is readable when the front is dead.
    /// The process group of the front. The guard is in another one, and must join this one to read from a terminal.
    pid_t group = -1;
};

struct PairOptions {
    const char* name = "rollcall run";  ///< In messages.
    /// A connection on which everything depends, or -1. When its other side is gone and the guard has not ended after
    /// a moment (it may be stopped), the front ends the guard and all processes below it.
    int lifeline = -1;
    /// A guard that is stopped for longer than this is ended; 0: never.
    Timeout stopped = Timeout(0);
    /// If not null, this time counts instead. It is in memory that both processes share, so that the guard can set it.
    const std::atomic<Nanoseconds>* shared_stopped = nullptr;
    /// After this time the guard is to end the job. If it is stopped then, the front lets it go on.
    Timeout limit = kForever;
    /// If not null, it is set to true when SIGINT was passed to the guard.
    bool* interrupted = nullptr;
};

/// Whether a signal to the launcher asks for the end of the job.
bool asks_for_the_end(int signal);

/// Forks a guard that runs `body` and exits with its result, and returns that result. `body` starts the job's
/// processes in the guard, from its one thread. The guard leads a process group of its own. When this function
/// returns, no process below this one is left except those that were there before. Files in /dev/shm are removed if the
/// guard of the job died or failed.
///
/// While it runs, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 (unless ignored) are passed to the guard.
/// If one of the first four comes again within 0.2 s, it counts as once. SIGTSTP is passed too; then this process stops
/// until SIGCONT, which is also passed on. SIGTSTP has no effect if it is ignored, or if no shell is above this process
/// in its session. Call it from one thread at a time, and start no other child processes
/// meanwhile. Throws Error{bootstrap}.
int run_guarded(const std::function<int(Guarded&)>& body, const PairOptions& options);

}  // namespace rollcall::launcher
