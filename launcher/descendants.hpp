/// \file
/// The processes below this one.
#pragma once

#include <sys/types.h>

#include <set>
#include <vector>

#include <rollcall/time.hpp>

namespace rollcall::launcher {

/// All living processes below `root`, without it: children, theirs, and so on. Zombies have nothing left to end and are
/// not among them, nor are the children in `spare` and what is below those. What is forked while it looks may be missing.
std::vector<pid_t> descendants(pid_t root, const std::set<pid_t>& spare = {});

/// The children of this process, zombies too.
std::set<pid_t> children();

/// SIGKILL to every process below this one, again and again until none is left, and reaps them. Needs this process to
/// be a subreaper: then nothing below it gets away, whatever session or process group it has made for itself. Children
/// in `spare`, and what is below them, are let live. False when some process could not be ended within `limit`.
bool kill_descendants(const std::set<pid_t>& spare, Timeout limit);

}  // namespace rollcall::launcher
