/// \file
/// How a benchmark gets its ranks: it starts them itself, or it is started as one of them.
///
/// A benchmark that is started outside a job starts its own: the same command again, on every rank, through the
/// launcher. Hidden options tell rank 0 what it inherits: a descriptor of the terminal, for a progress line (its own
/// standard error goes through the launcher), and one of a file in memory that it leaves its samples in. On emulated
/// hosts nothing is inherited, and the options are names of files.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <rollcall/job.hpp>
#include <rollcall/time.hpp>

#include "bench/emulated_cluster.hpp"
#include "bench/progress_line.hpp"

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

/// Whether this process was started as a rank of a job, and that job's size.
bool inside_job();
int job_size();

/// What a benchmark in a job has inherited from the one that started the job; -1, or empty: nothing.
struct Inherited {
    int terminal = -1;
    int samples = -1;
    std::string terminal_file, samples_file;
};
void add_inherited_options(usage::Command& command, Inherited& inherited);

/// How a job is to be started.
struct StartWords {
    std::string ranks;
    std::vector<std::string> environment;
    std::string timeout;
    std::string cluster, rate;
    bool on_cluster = false;  ///< Hidden: this is a rank on the cluster that was asked for.
};
/// Adds --ranks, --env, --timeout, --cluster and --rate.
void add_start_options(usage::Command& command, StartWords& words, int default_ranks);

struct Start {
    int ranks = 0;
    Timeout timeout = kForever;
    std::shared_ptr<EmulatedCluster> cluster = nullptr;  ///< The ranks' hosts, made with the first job; null: this host.
};
/// Checks the words; sets --env in this process, which its ranks inherit, and checks the settings. Inside a job --ranks
/// must be absent or the job's size. Throws Error{invalid_argument, invalid_setting}.
Start checked(const StartWords& words, int default_ranks, int fewest_ranks);

/// Runs this very command again, with further environment (K=V) and words, on each rank of a new job; returns the job's
/// exit code.
int start_again(const Start& start, const std::vector<std::string>& environment = {}, const std::vector<std::string>& words = {});

/// The same with a file in memory that rank 0 finds at samples_path(); when the job has ended well, `read` gets its path.
int start_with_samples(const Start& start, const std::vector<std::string>& environment, const std::vector<std::string>& words,
                       const std::function<void(const std::filesystem::path&)>& read);
/// Rank 0's name of that file; empty: nobody waits for samples.
std::filesystem::path samples_path(const Inherited& inherited);

/// Numbers measured in a job, by name, in the order in which they came.
struct Samples {
    int exit_code = 0;
    std::string transport;
    std::string explanation;  ///< Of the algorithm that `auto` chose; empty: none was wanted.
    std::map<std::string, std::vector<double>> values;
};
/// As start_with_samples(), with samples that rank 0 leaves.
Samples collect(const Start& start, const std::vector<std::string>& environment, const std::vector<std::string>& words);
/// Leaves samples for the process that collects them.
void leave(const Inherited& inherited, const Samples& samples);

/// The progress line of rank 0: on the terminal that was inherited, or on standard error.
ProgressLine::Surroundings progress_surroundings(const Inherited& inherited);

/// What cells call the transport: "ucx", or with the choice made by UCX_TLS: "ucx:tcp".
std::string transport_name();

}  // namespace rollcall::bench
