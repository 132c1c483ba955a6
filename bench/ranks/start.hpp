/// \file
/// How a benchmark gets its ranks: it starts them itself, or it was started as one of them.
///
/// A benchmark that runs outside a job starts a job of its own. On every rank the job runs the same command again, through the launcher.
/// Hidden options tell rank 0 what it inherits. One is a descriptor of the terminal, for the progress line, because rank 0's own standard
/// error goes through the launcher. The other is a descriptor of a file in memory, where rank 0 leaves its samples. Emulated hosts inherit
/// no descriptors, so there the options are file names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <rollcall/job.hpp>
#include <rollcall/time.hpp>

#include "bench/ranks/emulated_cluster.hpp"
#include "bench/results/progress_line.hpp"

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Whether `rollcall run` or another starter (srun, mpirun, torchrun) has started this process as a rank of a job, and the size of that
/// job. job_size() throws Error{state} if the starter does not tell the size.
bool inside_job();
int job_size();
/// Calls `check`. If it throws an Error, one rank of a job ends the whole job with the exit code of that error. (If the error went on, the
/// job would have the exit code of whichever rank ended first.)
void check_for_all(Job& job, const std::function<void()>& check);

/// Whether this host has fewer CPUs for this process than there are ranks.
bool share_cpus(int ranks);

/// What a benchmark inside a job has inherited from the process that started the job. -1, or empty: nothing.
struct Inherited {
    int terminal = -1;
    int samples = -1;
    std::string terminal_file, samples_file;
    std::uint64_t first_iteration = 0;  ///< The number of the first iteration, where several jobs measure one cell.
};
inline constexpr const char* kFirstIterationOption = "--inherited-first-iteration";
void add_inherited_options(usage::Command& command, Inherited& inherited);

/// The options that say how to start a job.
struct StartWords {
    std::string ranks;
    bool several_ranks = false;  ///< --ranks may be a list, with one job for each number. Set it before the options are added.
    std::vector<std::string> environment;
    std::string timeout;
    std::string cluster, rate;
    bool on_cluster = false;  ///< A hidden option: this process is a rank on the requested cluster.
    bool has_environment =
        false;  ///< A hidden option: this process was started with the variables of --env, or with others in their place.
};
/// Adds --ranks, --env, --timeout, --cluster and --rate.
void add_start_options(usage::Command& command, StartWords& words, int default_ranks);

struct Start {
    int ranks = 0;
    Timeout timeout = kForever;
    std::vector<std::string> environment = {};           ///< K=V: that of --env.
    std::shared_ptr<EmulatedCluster> cluster = nullptr;  ///< The hosts of the ranks, made with the first job. Null: this host.
};
/// Checks the options. Sets the variables of --env in this process, and checks the settings. The jobs that are started get these variables,
/// too. A variable that a job is to have with another value, such as one of two that are compared, keeps that value. Inside a job, --ranks
/// must be absent or equal to the size of the job. Throws Error{invalid_argument} or Error{invalid_setting}. Returns one start for each
/// number of ranks. All of them use the same emulated hosts.
std::vector<Start> checked_starts(const StartWords& words, int default_ranks, int fewest_ranks);
/// The same where --ranks is one number.
Start checked(const StartWords& words, int default_ranks, int fewest_ranks);

/// Runs this same command again on each rank of a new job, with additional environment (K=V) and arguments. Returns the exit code of the
/// job.
int start_again(const Start& start, const std::vector<std::string>& environment = {}, const std::vector<std::string>& words = {});

/// Does the same with a file in memory, which rank 0 finds at samples_path(). After the job, `read` is called with the path of the file and
/// the exit code of the job. If that is not 0, the file may be cut off or missing.
int start_with_samples(const Start& start, const std::vector<std::string>& environment, const std::vector<std::string>& words,
                       const std::function<void(const std::filesystem::path&, int)>& read);
/// The name of that file at rank 0. Empty: no process waits for samples.
std::filesystem::path samples_path(const Inherited& inherited);

/// Numbers measured in a job, by name, in the order in which they came.
struct Samples {
    int exit_code = 0;
    Nanoseconds took = 0;               ///< From the start of the job to its end. Only collect() sets it.
    std::uint64_t first_iteration = 0;  ///< The number of the job's first iteration. Only run_rounds() sets it, for after_job().
    std::string transport;
    std::string explanation;  ///< Explains the algorithm that `auto` chose. Empty: the user wanted no explanation.
    std::map<std::string, std::vector<double>> values;
};
/// Like start_with_samples(). Returns the samples that rank 0 leaves.
Samples collect(const Start& start, const std::vector<std::string>& environment, const std::vector<std::string>& words);
/// Leaves samples for the process that collects them.
void leave(const Inherited& inherited, const Samples& samples);

/// The progress line of rank 0. It is written to the inherited terminal, or to standard error.
ProgressLine::Surroundings progress_surroundings(const Inherited& inherited);

/// The name of the transport in cells: "ucx", or "ucx:tcp" if UCX_TLS chooses tcp.
std::string transport_name(const Job& job);

}  // namespace rollcall::bench
