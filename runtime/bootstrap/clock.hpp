/// \file
/// The clock of the launcher and of the bootstrap.
#pragma once

#include <time.h>

#include <limits>

#include <rollcall/time.hpp>

namespace rollcall::bootstrap {

inline constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
inline constexpr Nanoseconds kMillisecond = 1'000'000;

inline Nanoseconds now() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// A moment `timeout` from now, or kNever.
inline Nanoseconds after(Timeout timeout) {
    const Nanoseconds from = now();
    return timeout.count() >= kNever - from ? kNever : from + timeout.count();
}

}  // namespace rollcall::bootstrap
