/// \file
/// Shows where the ranks of a host are: stack traces by gdb.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "launcher/processes/spawn.hpp"

namespace rollcall::launcher {

/// The maximal number of ranks of a host that are traced. The ranks of a job that hangs mostly hang in the same
/// place.
inline constexpr std::size_t kMostTraced = 8;

/// Starts a process that lets gdb write the stacks of these ranks to standard error, one after the other, and then
/// ends. Returns the id of the process. If none can be started, returns -1, and `why_not` says what this host has or
/// cannot do.
pid_t start_tracer(const std::vector<std::pair<int, pid_t>>& ranks, const Inherited& inherited, std::string& why_not);

}  // namespace rollcall::launcher
