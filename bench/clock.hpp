/// \file
/// Waiting for a moment of CLOCK_MONOTONIC, for measurements.
#pragma once

#include "foundation/clock.hpp"

namespace rollcall::bench {

/// How a rank spends the time until it arrives.
enum class Compute {
    sleep,  ///< Leaves its core to others: right where ranks share cores, because their "computing" must not take
            ///< turns.
    spin,   ///< Occupies its core, as an application that computes does.
};

/// Asks the kernel to wake this thread's sleeps at once, not within its usual 50 us.
void make_sleep_exact();

/// Returns at `moment`. With Compute::sleep the last stretch is polled too, with yields, so that the time it takes to
/// be woken does not count.
void wait_until(Nanoseconds moment, Compute how);

}  // namespace rollcall::bench
