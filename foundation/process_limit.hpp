/// \file
/// What to do where no process and no thread can be started.
#pragma once

#include <cerrno>

namespace rollcall::inline foundation {

/// A clause, after a semicolon, about the errno of a process or thread that could not be started. Empty if no limit is the reason.
inline const char* process_limit_advice(int error) {
    return error == EAGAIN ? "; raise the limit of processes (ulimit -u, or pids.max of the control group, which containers have)" : "";
}

}  // namespace rollcall::inline foundation
