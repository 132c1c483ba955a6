/// \file
/// Waits for a time of CLOCK_MONOTONIC, for measurements.
#pragma once

#include "foundation/clock.hpp"

namespace rollcall::bench {

/// How a rank spends the time until its arrival.
enum class Compute {
    sleep,  ///< Leaves its core to others. Right if ranks share cores, because their "computing" must happen at the
            ///< same time.
    spin,   ///< Occupies its core, like an application that computes.
};

/// Asks the kernel to end sleeps of this thread at once, and not within its usual slack of 50 us.
void make_sleep_exact();

/// Returns at `moment`. With Compute::sleep the end of the wait is polled, with yields, so that the time needed to wake the thread does not
/// count.
void wait_until(Nanoseconds moment, Compute how);

}  // namespace rollcall::bench
