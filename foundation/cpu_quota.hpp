/// \file
/// How much CPU time the control groups of this process allow.
#pragma once

#include <optional>
#include <string>

namespace rollcall::inline foundation {

/// Returns how many CPUs' time this process may use at most: the lowest quota of its control group and of those above it that can be seen,
/// of version 1 or 2. Returns nothing if there is no quota. `root` is the directory in which /proc and the mount points are found.
std::optional<double> cpu_quota(const std::string& root = {});

}  // namespace rollcall::inline foundation
