/// \file
/// Benchmarks that compare competitors. Jobs of Rollcall and runs of peers take turns, round by round. So other activity of the machine,
/// and the placement of processes, concern all competitors alike.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cell.hpp"
#include "bench/start.hpp"
#include "support/output.hpp"

namespace rollcall::bench {

/// The options that these benchmarks have in common. The initial values are the defaults.
struct RoundWords {
    StartWords start;
    Inherited inherited;
    std::string transports = "default";
    std::uint64_t iterations = 1;
    std::uint64_t rounds = 1;
    output::Format format = output::Format::text;
};
/// Adds --ranks, --env, --timeout, --transport, --iterations and --format. If there can be several rounds, the caller adds --rounds.
void add_round_options(usage::Command& command, RoundWords& words, int default_ranks, const char* iterations_help);
/// Adds an option that takes a whole number of at least 1.
void add_count_option(usage::Command& command, const char* name, std::uint64_t& count, const char* help);

/// A transport with which a job is started.
struct TransportChoice {
    std::string name;
    std::vector<std::string> environment;  ///< K=V
};
/// Parses "default,shm,tcp". Inside a job only "default" is allowed, because its ranks already run. Throws Error{invalid_argument}.
std::vector<TransportChoice> parse_transports(std::string_view text);

/// For comparisons with peers, which choose their transport: refuses TCP on this host. Throws Error{invalid_argument}.
void refuse_other_than_peers(const std::vector<TransportChoice>& transports, bool on_cluster);

/// Measures, as a rank of a job. Rank 0 leaves the samples for the process that started the job, or prints them if no process waits for
/// them.
void run_in_job(const Inherited& inherited, const std::function<Samples(Job&)>& measure, const std::function<void(const Samples&)>& print);
/// Starts jobs of this same command with additional environment, one for each round. Calls `use` with the samples of each job. Stops after
/// the first job that fails, and returns its exit code; otherwise returns 0.
int run_rounds(const Start& start, const std::vector<std::string>& environment, std::uint64_t rounds,
               const std::function<void(const Samples&)>& use);

/// The samples of one competitor: one list for each round.
using Rounds = std::vector<std::vector<double>>;

/// Returns all samples of all rounds.
std::vector<double> together(const Rounds& rounds);
/// Returns, for each round, the median of the numerator divided by the median of the denominator.
std::vector<double> ratios(const Rounds& numerator, const Rounds& denominator);

/// Makes a cell like those of collectives. Its run_time is the measured time, and its other times are not defined.
Cell plain_cell(CellIdentity identity, std::span<const double> run_time);
/// Makes a metric that is not defined for this cell.
Metric undefined(std::string name, Unit unit);

}  // namespace rollcall::bench
