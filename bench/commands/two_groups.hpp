/// \file
/// `rollcall bench intergroup_allgather` and `intergroup_allgatherv`, and the other operations between two groups.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Algorithms that take turns in a job.
struct TurnsOfAlgorithms {
    const std::vector<std::string>& algorithms;
    bool leaves_out_impossible = false;  ///< Those that all ranks refuse are left out. Otherwise their error leaves take_turns().
    std::uint64_t iterations = 0;        ///< Measured calls of each algorithm. One call before them warms up.
    std::uint64_t key = 0;               ///< Decides about the order of the algorithms, and about the data.
    /// Makes one call, with data that this key gives. Returns its time, in seconds.
    std::function<double(const std::string& algorithm, std::uint64_t key)> seconds_of;
    std::function<void(const std::string& algorithm, double seconds)> add;  ///< Takes the time of each measured call.
};
/// Calls the algorithms in another order in each iteration, which is the same on all ranks.
void take_turns(const TurnsOfAlgorithms& turns);

/// Adds the subcommands, which run during parsing and set `exit_code`. Wrong usage throws Error{invalid_argument} with a message of one
/// line, before any rank is started.
void add_two_groups_commands(usage::Command& bench, int& exit_code);
void add_between_groups_commands(usage::Command& bench, int& exit_code);

}  // namespace rollcall::bench
