/// \file
/// Lets a thread sleep on descriptors until a given time.
#pragma once

#include <algorithm>

#include <poll.h>
#include <time.h>

#include "foundation/clock.hpp"

namespace rollcall::runtime {

/// Sleeps until one of the descriptors is readable, until this time of CLOCK_MONOTONIC (kNever: no limit), or until a signal comes. Returns
/// 0 if the time was over, and another number otherwise.
inline int poll_until(pollfd* descriptors, nfds_t count, Nanoseconds until) noexcept {
    if (until == kNever) return ::poll(descriptors, count, -1);
    const Nanoseconds left = std::max<Nanoseconds>(0, until - monotonic_now());
    const timespec time{left / 1'000'000'000, left % 1'000'000'000};
    return ::ppoll(descriptors, count, &time, nullptr);
}

}  // namespace rollcall::runtime
