/// \file
/// When each rank arrives, as all ranks know it: for schedules that all of them compute.
#pragma once

#include <vector>

#include <rollcall/time.hpp>

#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

/// The messages by which the times are told. (Data has other steps.)
inline constexpr std::uint64_t kTimesStep = 0;

/// About what a message takes over a network of 10 Gbit/s, and a byte of it, in ns. They only say how many messages apart two arrivals are.
inline constexpr double kForeseenMessage = 10'000, kForeseenByte = 0.8;
constexpr Nanoseconds foreseen_time(std::uint64_t bytes) {
    return static_cast<Nanoseconds>(kForeseenMessage + kForeseenByte * static_cast<double>(bytes));
}

struct Foresight {
    /// By rank, from the time on at which this was decided; ranks that had arrived by then have 0. The same on all ranks.
    std::vector<Nanoseconds> arrivals;
    std::vector<runtime::Pending> telling;  ///< At the leader: to be waited for in the end, while `arrivals` stays.
};

/// The leader decides, when it knows of all ranks, or when its own caller arrives: from what its board shows. Who is not expected counts as
/// the last one. It tells all others; they tell it when they expect to arrive, and that they have. The caller of this rank need not have
/// come.
runtime::Task foresee_arrivals(runtime::Operation& op, int leader, Foresight& foresight);

}  // namespace rollcall::collectives
