/// \file
/// Which of two failures, of which the launcher hears, was the first one. It has caused the other one.
#pragma once

#include <signal.h>

#include "foundation/clock.hpp"
#include "launcher/protocol.hpp"

namespace rollcall::launcher {

/// A rank that exited by itself, and not by a signal, and so ended the job, as far as the launcher knew.
struct FirstExit {
    int host = 0;         ///< The index of its host.
    Nanoseconds time{0};  ///< When the launcher heard of it.
};

/// The report of a kill may be overtaken for at most this time. A later kill has another reason: an operator ends a rank that hangs, or the
/// system is short of memory.
inline constexpr Nanoseconds kMostOvertaken = 1'000'000'000;

/// Returns true if `kill`, which the launcher hears of at `time`, counts as the first failure, although `first` was reported before.
///
/// On another host the report of a kill may be overtaken by that of a survivor, which has given up because its connection to the killed
/// rank has closed. Reports of one host come in the order in which its ranks ended. Only SIGKILL counts, because it comes from outside the
/// program. The caller makes sure that it has not sent any signal to the ranks.
inline bool counts_as_first(const Exit& kill, int host, Nanoseconds time, const FirstExit& first) {
    return kill.signalled && kill.code == 128 + SIGKILL && host != first.host && time - first.time <= kMostOvertaken;
}

}  // namespace rollcall::launcher
