/// \file
/// Whose clock a process has: processes of one host share it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/clock/model.hpp"

namespace rollcall::runtime {

/// Names the clock of a process: the same exactly where CLOCK_MONOTONIC is, that is under the same boot of a kernel in the same time
/// namespace, whatever containers are called. `host` stands for the boot where /proc does not tell it.
std::uint64_t clock_identity(std::string_view host);

/// For tests: what is wrong with the clock of this rank. ROLLCALL_TEST_CLOCKS is a list of clocks, "offset:drift" (nanoseconds, and parts
/// per million), separated by commas; a job's ranks share them out evenly, in order, and each stands for a host of its own:
/// "0:0,2000000000:40" with four ranks makes the clock of ranks 2 and 3 go 40 ppm too fast, and it was two seconds before when the
/// machine was started. Deadlines and time-outs stay on the real clock.
struct TestClock {
    ClockModel model;          ///< From the real clock to the wrong one.
    std::uint64_t number = 0;  ///< Which of the list, from 1; 0: none, the clock is right.
};
/// Throws Error{invalid_setting}.
TestClock test_clock(int rank, int size);

}  // namespace rollcall::runtime
