/// \file
/// Two processes that watch over a job: if one of them dies, even by SIGKILL, the other ends what it left.
#pragma once

#include <functional>

#include <rollcall/time.hpp>

#include "foundation/descriptor.hpp"
#include "launcher/spawn.hpp"

namespace rollcall::launcher {

/// What the guard gets from the front.
struct Guarded {
    Inherited inherited;
    Descriptor commands;  ///< From the front: a byte for each signal it got. To it: Leftovers::Found.
    Descriptor front;     ///< A pidfd: readable when the front is dead.
};

struct PairOptions {
    const char* name = "rollcall run";  ///< In messages.
    /// A connection on which everything depends, or -1: when its other side is gone and the guard has not ended after a
    /// moment (it may be stopped), the front ends it and all below it.
    int lifeline = -1;
    /// A guard that is stopped for longer is ended; 0: never.
    Timeout stopped = Timeout(0);
};

/// Forks a guard that runs `body` and exits with its result; gives that. `body` starts the job's processes, from its one
/// thread, in that process. When this returns no process below this one is left, but for those that were there before;
/// files in /dev/shm of a job whose guard died or failed are removed.
///
/// While it runs SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 (unless ignored) are passed to the guard, as is SIGTSTP, after which
/// this process stops until SIGCONT, which is passed on too. Call it from one thread at a time, and start no other child
/// processes meanwhile. Throws Error{bootstrap}.
int run_guarded(const std::function<int(Guarded&)>& body, const PairOptions& options);

}  // namespace rollcall::launcher
