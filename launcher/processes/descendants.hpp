/// \file
/// The processes below this one.
#pragma once

#include <sys/types.h>

#include <set>
#include <vector>

#include <rollcall/time.hpp>

namespace rollcall::launcher {

/// Returns all living processes below `root`, without `root`: its children, their children, and so on. Zombies are
/// not among them, because nothing of them is left to end. Children in `spare`, and everything below those, are not
/// among them either. A process that is forked during the search may be missing.
std::vector<pid_t> descendants(pid_t root, const std::set<pid_t>& spare = {});

/// Returns the parent of a process. 0: it has none in this PID namespace, or it is gone.
pid_t parent_of(pid_t process);

/// Returns the children of this process, including zombies.
std::set<pid_t> children();

/// Sends SIGKILL to every process below this one, again and again until none is left, and reaps them. This process
/// must be a subreaper. Then no process below it can escape, whatever session or process group it has made for
/// itself. Children in `spare`, and everything below them, are left alive. Returns false if some process could not be
/// ended within `limit`.
bool kill_descendants(const std::set<pid_t>& spare, Timeout limit);

}  // namespace rollcall::launcher
