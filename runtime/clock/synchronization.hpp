/// \file
/// What the ranks of a communicator need for synchronising their clocks, and what comes of it.
#pragma once

#include <optional>
#include <span>

#include "runtime/clock/common_clock.hpp"

namespace rollcall::runtime {

/// One rank's part in a synchronisation. In and out of collectives::synchronize_clocks.
struct ClockSynchronization {
    /// The host of each rank of the communicator, as a number: ranks with the same one share their clock. The same on all ranks.
    std::span<const int> hosts;
    /// How long a host watches the clock of another; above 0. Counts at the first rank of each host.
    Nanoseconds window = 0;
    /// What the last synchronisation with the same reference rank gave, if there was one.
    std::optional<SynchronizedClock> previous = {};
    /// Out: to the clock of rank 0.
    SynchronizedClock clock = {};
};

}  // namespace rollcall::runtime
