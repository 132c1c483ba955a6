/// \file
/// The clock of this host, and deadlines on it.
#pragma once

#include <time.h>

#include <limits>

#include <rollcall/time.hpp>

namespace rollcall::inline foundation {

/// The deadline of something that has none. It is later than every other time.
inline constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
inline constexpr Nanoseconds kMicrosecond = 1'000, kMillisecond = 1'000'000;

/// The time of CLOCK_MONOTONIC.
inline Nanoseconds monotonic_now() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// The time `timeout` from now. kNever if the timeout is kForever, or if the sum cannot be represented.
inline Nanoseconds deadline_after(Timeout timeout) noexcept {
    if (timeout == kForever) return kNever;  // without a look at the clock
    const Nanoseconds from = monotonic_now();
    return timeout.count() >= kNever - from ? kNever : from + timeout.count();
}

}  // namespace rollcall::inline foundation
