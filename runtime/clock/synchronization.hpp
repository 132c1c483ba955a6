/// \file
/// What the ranks of a communicator need in order to synchronise their clocks, and the result.
#pragma once

#include <optional>
#include <span>

#include "runtime/clock/common_clock.hpp"

namespace rollcall::runtime {

/// One rank's part in a synchronisation: the input and output of collectives::synchronize_clocks.
struct ClockSynchronization {
    /// The host of each rank of the communicator, as a number. Ranks with the same number share a clock. Must be the same on all ranks.
    std::span<const int> hosts;
    /// How long one host measures the clock of another, in nanoseconds; above 0. Only the value at the first rank of each host counts.
    Nanoseconds window = 0;
    /// The result of the previous synchronisation with the same reference rank, if there was one.
    std::optional<SynchronizedClock> previous = {};
    /// Output: converts to the clock of rank 0.
    SynchronizedClock clock = {};
};

}  // namespace rollcall::runtime
