/// \file
/// The types of times and deadlines.
#pragma once

#include <chrono>
#include <cstdint>

namespace rollcall {

/// A time in nanoseconds of CLOCK_MONOTONIC, of job time (Job::time()), or of the virtual clock of a simulation; or the difference of two
/// such times.
using Nanoseconds = std::int64_t;

/// How long a call may take. With 0 it does only what can be done at once. A value below 0 throws Error{invalid_argument}. If a call is
/// given no timeout, the environment variable ROLLCALL_TIMEOUT applies; by default there is no deadline.
using Timeout = std::chrono::nanoseconds;

/// No deadline: the call waits as long as it takes.
inline constexpr Timeout kForever = Timeout::max();

}  // namespace rollcall
