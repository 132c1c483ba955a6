/// \file
/// Whose clock a process has: processes of one host share it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/clock/model.hpp"

namespace rollcall::runtime {

/// Names the clock of a process: the same exactly where CLOCK_MONOTONIC is. Two processes have the same if they run under the same
/// boot of a kernel, in the same time namespace, on hosts of the same name. (Namespaces and containers with names of their own count
/// as hosts, although they may share a kernel's clock: then there is an offset of nothing to be found.)
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
