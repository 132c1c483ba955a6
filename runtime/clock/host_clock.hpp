/// \file
/// Identifies the clock of a process. The processes of one host share a clock.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/clock/model.hpp"

namespace rollcall::runtime {

/// Identifies the clock of a process. Two processes get the same number if and only if they have the same CLOCK_MONOTONIC: the same boot of
/// a kernel, and the same time namespace. The names of containers do not matter. `host` replaces the boot id if /proc does not provide one.
std::uint64_t clock_identity(std::string_view host);

/// For tests: the deviation of this rank's clock. ROLLCALL_TEST_CLOCKS is a list of clocks, separated by commas. Each clock is
/// "offset:drift", in nanoseconds and in parts per million. The clocks are distributed evenly over the ranks of the job, in order, and each
/// clock stands for a host of its own. For example, with four ranks "0:0,2000000000:40" makes the clock of ranks 2 and 3 run 40 ppm too
/// fast, and it was two seconds ahead when the machine was started. Deadlines and time-outs use the real clock.
struct TestClock {
    ClockModel model;          ///< Converts from the real clock to the deviating one.
    std::uint64_t number = 0;  ///< The position in the list, from 1; 0: none, the clock is right.
};
/// Throws Error{invalid_setting} if ROLLCALL_TEST_CLOCKS is malformed.
TestClock test_clock(int rank, int size);

}  // namespace rollcall::runtime
