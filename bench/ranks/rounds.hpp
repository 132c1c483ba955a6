/// \file
/// Benchmarks that compare competitors. Jobs of Rollcall and runs of peers take turns, round by round. So other activity of the machine,
/// and the placement of processes, concern all competitors alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/ranks/start.hpp"
#include "bench/results/cell.hpp"
#include "bench/results/figures.hpp"
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
/// Adds --rounds, for benchmarks that start a job in each round.
void add_rounds_option(usage::Command& command, RoundWords& words);
/// Adds an option that takes a list of sizes. Its initial value is the default. `help`: sizes of what.
void add_sizes_option(usage::Command& command, const char* name, std::string& sizes, const char* help);
/// Adds an option that takes a whole number of at least 1.
void add_count_option(usage::Command& command, const char* name, std::uint64_t& count, const char* help);

/// A transport with which a job is started.
struct TransportChoice {
    std::string name;
    std::vector<std::string> environment;  ///< K=V
};
/// Parses "default,shm,tcp". Inside a job only "default" is allowed, because its ranks already run. Throws Error{invalid_argument}.
std::vector<TransportChoice> parse_transports(std::string_view text);

/// Inside a job that this command has not started, the ranks already have their settings: refuses other values than the one that is set.
/// `values` is what the text means: names without aliases. An empty text was not asked for. Throws Error{invalid_argument}.
void refuse_other_settings(const Inherited& inherited, const char* option, const std::string& asked, const std::vector<std::string>& values,
                           const std::string& set);

/// For comparisons with peers, which choose their transport: refuses TCP on this host. Throws Error{invalid_argument}.
void refuse_other_than_peers(const std::vector<TransportChoice>& transports, bool on_cluster);

/// A setting with which jobs are started, such as "landing off". Each round has a job of each variant.
struct Variant {
    std::string name;
    std::vector<std::string> environment = {};  ///< K=V
};

/// A benchmark that run_rounds() runs.
struct RoundBenchmark {
    /// Measures, as a rank of a job. Only the samples of rank 0 count.
    std::function<Samples(Job&)> measure;
    /// Inside a job that already runs, only the first variant is used. It must then describe that job.
    std::vector<Variant> variants = {{}};
    /// Called after each job. Peers run here, so that they take turns with the jobs.
    std::function<void(const TransportChoice&, const Samples&)> after_job = {};
    /// Prints the results of one variant over one transport: the samples of each round.
    std::function<void(CellPrinter&, const Variant&, const std::vector<Samples>&)> print;
};
/// Outside a job, starts jobs of this same command: for each transport, so many rounds of all variants. Iterations are numbered on from
/// round to round, so each round has other random delays. Stops after the first job that fails, prints the rounds that were complete, and
/// returns its exit code; otherwise returns 0. It prints them, too, before it lets an error of after_job() through. Inside a job, measures
/// as one of its ranks. Rank 0 then leaves the samples for the process that started the job, or prints them if no process waits for them.
int run_rounds(const Start& start, const RoundWords& words, const RoundBenchmark& benchmark);

/// Leaves out the rounds of one competitor after the first `complete` ones: there, another one has failed.
template <class Round>
void keep_complete(std::vector<Round>& rounds, std::size_t complete) {
    if (rounds.size() > complete) rounds.erase(rounds.begin() + static_cast<std::ptrdiff_t>(complete), rounds.end());
}

/// Returns the samples of this name.
Rounds rounds_of(const std::vector<Samples>& measured, const std::string& name);

/// Makes a cell like those of collectives. Its run_time is the measured time, and its other times are not defined. Where the identity has
/// no iterations, each sample is one.
Cell plain_cell(CellIdentity identity, std::span<const double> run_time);

/// Another program that measured the same in each round.
struct PeerRounds {
    CellIdentity identity;
    Rounds rounds;
};
/// Prints the row of Rollcall and those of its peers, which also contain the time of Rollcall relative to the peer's. All have the notes.
/// Only rounds that Rollcall has count.
void add_beside_peers(CellPrinter& printer, CellIdentity identity, const Rounds& ours, std::span<const PeerRounds> peers,
                      const std::vector<std::pair<std::string, std::string>>& notes = {});

}  // namespace rollcall::bench
