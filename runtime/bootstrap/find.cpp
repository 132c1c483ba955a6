#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include <rollcall/error.hpp>

#include "runtime/bootstrap/alone.hpp"
#include "runtime/bootstrap/bootstrap.hpp"
#include "runtime/bootstrap/frames.hpp"
#include "runtime/bootstrap/launched.hpp"
#include "runtime/bootstrap/managed.hpp"
#include "runtime/bootstrap/pmi.hpp"
#include "runtime/bootstrap/pmix.hpp"
#include "runtime/bootstrap/slurm/srun.hpp"
#include "runtime/bootstrap/starters/directory.hpp"
#include "runtime/bootstrap/starters/torchrun.hpp"

namespace rollcall::bootstrap {
namespace {

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

/// For the number of processes that a starter tells of: a job of one needs no bootstrap.
bool is_one(const char* variable) { return number_in_environment(variable) == 1; }

bool by_pmi() { return is_set("PMI_FD") && !is_one("PMI_SIZE"); }

bool by_pmi_with_open_socket() {
    struct stat status {};
    return by_pmi() && ::fstat(number_in_environment("PMI_FD"), &status) == 0 && S_ISSOCK(status.st_mode);
}

bool by_open_mpi() { return is_set("OMPI_COMM_WORLD_SIZE") && !is_one("OMPI_COMM_WORLD_SIZE"); }

/// A task of srun's, not a script of sbatch's or a shell of salloc's: those may be in a step of their own, of one task.
bool by_srun() {
    return is_set("SLURM_PROCID") && is_set("SLURM_STEP_ID") &&
           !is_one(is_set("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS");
}

bool by_pmix() {
    if (!is_set("PMIX_RANK")) return false;
    // PMIx does not put the size there, but some of those who speak it do.
    if (is_set("OMPI_COMM_WORLD_SIZE")) return by_open_mpi();
    const char* const name_space = std::getenv("PMIX_NAMESPACE");
    return !(name_space && std::string_view(name_space).starts_with("slurm.pmix.") && is_one("SLURM_STEP_NUM_TASKS"));
}

/// Others that speak PMI, by other ways than an inherited socket.
bool by_other_pmi() { return !is_set("PMI_FD") && is_set("PMI_RANK") && !is_one("PMI_SIZE"); }

std::unique_ptr<Bootstrap> join_rollcall_run() {
    auto bootstrap = std::make_unique<Launched>(std::getenv(kDescriptorVariable));
    // What this program starts is not a rank of this job.
    ::unsetenv(kDescriptorVariable);
    return bootstrap;
}

/// One way of being started, told by the environment.
struct Starter {
    const char* name;
    const char* variable;  ///< That tells of it.
    bool (*evident)();
    std::unique_ptr<Bootstrap> (*join)();  ///< nullptr: evident, but not supported.
};

/// From the innermost to the outermost.
const Starter kStarters[] = {
    // Inside an allocation of Slurm's, or under somebody's mpiexec, it is nearer to the program than those.
    {"rollcall run", kDescriptorVariable, [] { return is_set(kDescriptorVariable); }, join_rollcall_run},
    // Set by hand for this job, and taken out of the environment by who joins: nothing is nearer, but for the above.
    {"a rendezvous directory", kDirectoryVariable, by_directory, join_directory},
    // A torchrun is often started by srun or mpirun itself, once on each host; the reverse is not done.
    {"a launcher like torchrun", "RANK", by_torchrun, join_torchrun},
    // Before Open MPI: its mpirun closes what it does not know, so that a socket which is open comes from within.
    {"a launcher that speaks PMI-1", "PMI_FD", by_pmi_with_open_socket, join_pmi},
    // Those before srun: what speaks PMI or PMIx inside a step is Slurm itself, or somebody whose daemons srun started.
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", by_open_mpi, join_pmix},
    {"a launcher that speaks PMI-1", "PMI_FD", by_pmi, join_pmi},
    {"a launcher that speaks PMIx", "PMIX_RANK", by_pmix, join_pmix},
    {"srun (Slurm)", "SLURM_PROCID", by_srun, join_srun},
    {"a launcher that speaks PMI (mpiexec)", "PMI_RANK", by_other_pmi, nullptr},
};

const Starter* evident_in_environment() {
    for (const Starter& starter : kStarters) {
        if (starter.evident()) return &starter;
    }
    return nullptr;
}

/// The process that has joined, so that a second look in it is an error and not a job of one; its forked children may
/// look.
std::atomic<pid_t> joined_process = 0;

}  // namespace

Evidence evident_starter() {
    const Starter* const starter = evident_in_environment();
    if (!starter) return {"alone", "", true};
    return {starter->name, starter->variable, starter->join != nullptr};
}

std::unique_ptr<Bootstrap> find_bootstrap() {
    // Some starters' variables stay in the environment.
    if (joined_process == ::getpid()) {
        throw Error(ErrorCode::state, "this process has already joined its job: find_bootstrap() is called once");
    }
    if (const Starter* const starter = evident_in_environment()) {
        if (!starter->join) {
            throw Error(ErrorCode::bootstrap,
                        fmt::format("this process was started by {} ({} is set), in a way that Rollcall does not support; start the job "
                                    "by `rollcall run`, or unset the variable to run alone",
                                    starter->name, starter->variable));
        }
        auto bootstrap = starter->join();
        joined_process = ::getpid();
        return bootstrap;
    }
    return std::make_unique<Alone>();
}

}  // namespace rollcall::bootstrap
