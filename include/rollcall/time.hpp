/// \file
/// Time as Rollcall counts it.
#pragma once

#include <chrono>
#include <cstdint>

namespace rollcall {

/// Nanoseconds of CLOCK_MONOTONIC, of job time (Job::time()), or of the virtual clock of a simulation; or a difference of two such
/// times.
using Nanoseconds = std::int64_t;

/// How long a call may take, from 0: it does what can be done at once. Below 0: Error{invalid_argument}. No deadline unless one is
/// given (or the setting ROLLCALL_TIMEOUT is).
using Timeout = std::chrono::nanoseconds;

/// Wait for as long as it takes.
inline constexpr Timeout kForever = Timeout::max();

}  // namespace rollcall
