/// \file
/// Benchmarks that compare: jobs of our own and runs of peers in turn, round by round, so that what the machine does
/// meanwhile, and where processes happen to be placed, concerns all of them alike.
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

/// What the command lines of these benchmarks have in common. The values they begin with are the defaults.
struct RoundWords {
    StartWords start;
    Inherited inherited;
    std::string transports = "default";
    std::uint64_t iterations = 1;
    std::uint64_t rounds = 1;
    output::Format format = output::Format::text;
};
/// Adds --ranks, --env, --timeout, --transport, --iterations and --format; --rounds, where there can be several, is the
/// caller's to add.
void add_round_options(usage::Command& command, RoundWords& words, int default_ranks, const char* iterations_help);
/// Adds an option that takes a whole number from 1 on.
void add_count_option(usage::Command& command, const char* name, std::uint64_t& count, const char* help);

/// A way to move bytes that a job is started with.
struct TransportChoice {
    std::string name;
    std::vector<std::string> environment;  ///< K=V
};
/// "default,shm,tcp". Inside a job only "default" is allowed: its ranks are there already. Throws
/// Error{invalid_argument}.
std::vector<TransportChoice> parse_transports(std::string_view text);

/// As a rank of a job: measures. Rank 0 leaves the samples for the process that started the job, or else prints them.
void run_in_job(const Inherited& inherited, const std::function<Samples(Job&)>& measure, const std::function<void(const Samples&)>& print);
/// Jobs of this very command with further environment, one for each round; `use` gets what each of them measured. Returns
/// the exit code of the first that failed, which is the last, or 0.
int run_rounds(const Start& start, const std::vector<std::string>& environment, std::uint64_t rounds,
               const std::function<void(const Samples&)>& use);

/// Samples of one competitor: a list for each round.
using Rounds = std::vector<std::vector<double>>;

/// All samples of all rounds.
std::vector<double> together(const Rounds& rounds);
/// For each round the median of the one over the median of the other.
std::vector<double> ratios(const Rounds& numerator, const Rounds& denominator);

/// A cell like those of collectives, whose run_time is what was measured and whose other times are not defined.
Cell plain_cell(CellIdentity identity, std::span<const double> run_time);
/// A metric that is not defined for this cell.
Metric undefined(std::string name, Unit unit);

}  // namespace rollcall::bench
