/// \file
/// Where the ranks of a host are: stack traces by gdb.
#pragma once

#include <sys/types.h>

#include <utility>
#include <vector>

namespace rollcall::launcher {

/// Most ranks of a host that are looked at: those of a job that hangs mostly hang alike.
inline constexpr std::size_t kMostTraced = 8;

/// Starts a process that lets gdb write the stacks of these ranks on standard error, one after the other, and ends; its
/// id, or -1 when there is no gdb in PATH.
pid_t start_tracer(const std::vector<std::pair<int, pid_t>>& ranks);

}  // namespace rollcall::launcher
