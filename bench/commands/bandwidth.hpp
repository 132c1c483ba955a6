/// \file
/// `rollcall bench bandwidth`: bytes and messages per second between pairs of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include <rollcall/job.hpp>

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// How many seconds pass from one message to the next between rank r of the first half of `ranks`, whose number is even, and rank r + n/2,
/// with many messages in flight. Each sample is the mean of a batch. Returns the same on all ranks. Collective.
std::vector<double> message_gaps(Job& job, const Communicator& ranks, std::uint64_t bytes, std::uint64_t iterations);

/// Adds the subcommand to `rollcall bench`. Errors as add_bench_command().
void add_bandwidth_command(usage::Command& bench, int& exit_code);

}  // namespace rollcall::bench
