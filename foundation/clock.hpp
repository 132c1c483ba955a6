/// \file
/// This host's clock, and deadlines on it.
#pragma once

#include <time.h>

#include <limits>

#include <rollcall/time.hpp>

namespace rollcall::inline foundation {

/// The time of what has no deadline: later than every other.
inline constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
inline constexpr Nanoseconds kMillisecond = 1'000'000;

/// CLOCK_MONOTONIC.
inline Nanoseconds monotonic_now() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// The moment `timeout` from now; kNever when it is kForever, or when there is no such moment.
inline Nanoseconds deadline_after(Timeout timeout) noexcept {
    const Nanoseconds from = monotonic_now();
    return timeout.count() >= kNever - from ? kNever : from + timeout.count();
}

}  // namespace rollcall::inline foundation
