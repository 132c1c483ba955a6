#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include <rollcall/error.hpp>

#include "bootstrap/alone.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/frames.hpp"
#include "bootstrap/launched.hpp"
#include "bootstrap/managed.hpp"
#include "bootstrap/pmi.hpp"
#include "bootstrap/pmix.hpp"
#include "bootstrap/slurm/srun.hpp"
#include "bootstrap/starters/directory.hpp"
#include "bootstrap/starters/torchrun.hpp"

namespace rollcall::bootstrap {
namespace {

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

/// How many processes a starter has started, as far as the environment tells.
enum class Told { nothing, one, many };

Told told(bool evident, const char* size) {
    if (!evident) return Told::nothing;
    return number_in_environment(size) == 1 ? Told::one : Told::many;
}

Told by_rollcall_run() { return is_set(kDescriptorVariable) ? Told::many : Told::nothing; }
Told by_directory() { return told(is_set(kDirectoryVariable), kDirectorySizeVariable); }
Told by_torchrun() { return told(torchrun_is_evident(), "WORLD_SIZE"); }
Told by_open_mpi() { return told(is_set("OMPI_COMM_WORLD_SIZE"), "OMPI_COMM_WORLD_SIZE"); }

Told by_pmi_with_open_socket() {
    struct stat status {};
    const bool open = is_set("PMI_FD") && ::fstat(number_in_environment("PMI_FD"), &status) == 0 && S_ISSOCK(status.st_mode);
    return told(open, "PMI_SIZE");
}

/// Without its socket, what tells of a single process may have been left by an outer starter.
Told by_pmi() { return told(is_set("PMI_FD"), "PMI_SIZE") == Told::many ? Told::many : Told::nothing; }

/// A task of srun's, not a script of sbatch's or a shell of salloc's: those may be in a step of their own, of one task, in which
/// others start jobs. So a step of one does not end the search.
Told by_srun() {
    const char* const size = is_set("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
    return told(is_set("SLURM_PROCID") && is_set("SLURM_STEP_ID"), size) == Told::many ? Told::many : Told::nothing;
}

/// PMIx does not put the size there, but Slurm does.
Told by_pmix() {
    if (!is_set("PMIX_RANK")) return Told::nothing;
    const char* const name_space = std::getenv("PMIX_NAMESPACE");
    const bool of_slurm = name_space && std::string_view(name_space).starts_with("slurm.pmix.");
    return of_slurm && told(true, "SLURM_STEP_NUM_TASKS") == Told::one ? Told::nothing : Told::many;
}

/// Others that speak PMI, by other ways than an inherited socket.
Told by_other_pmi() { return told(!is_set("PMI_FD") && is_set("PMI_RANK"), "PMI_SIZE"); }

std::unique_ptr<Bootstrap> join_rollcall_run() { return std::make_unique<Launched>(std::getenv(kDescriptorVariable)); }

/// One way of being started, told by the environment.
struct Starter {
    const char* name;
    const char* variable;  ///< That tells of it.
    Told (*told)();
    std::unique_ptr<Bootstrap> (*join)();  ///< nullptr: evident, but not supported.
};

constexpr const char* kRankOfTorchrun = "RANK";

/// From the innermost to the outermost.
const Starter kStarters[] = {
    // Inside an allocation of Slurm's, or under somebody's mpiexec, it is nearer to the program than those.
    {"rollcall run", kDescriptorVariable, by_rollcall_run, join_rollcall_run},
    // Set by hand for this job, and taken out of the environment by who joins: nothing is nearer, but for the above.
    {"a rendezvous directory", kDirectoryVariable, by_directory, join_directory},
    // A torchrun is often started by srun or mpirun itself, once on each host; the reverse is not done.
    {"a launcher like torchrun", kRankOfTorchrun, by_torchrun, join_torchrun},
    // Before Open MPI: its mpirun closes what it does not know, so that a socket which is open comes from within.
    {"a launcher that speaks PMI-1", "PMI_FD", by_pmi_with_open_socket, join_pmi},
    // Those before srun: what speaks PMI or PMIx inside a step is Slurm itself, or somebody whose daemons srun started.
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", by_open_mpi, join_pmix},
    {"a launcher that speaks PMI-1", "PMI_FD", by_pmi, join_pmi},
    {"a launcher that speaks PMIx", "PMIX_RANK", by_pmix, join_pmix},
    {"srun (Slurm)", "SLURM_PROCID", by_srun, join_srun},
    {"a launcher that speaks PMI (mpiexec)", "PMI_RANK", by_other_pmi, nullptr},
};

/// What else belongs to those variables.
constexpr const char* kCompanions[] = {kDirectoryRankVariable, kDirectorySizeVariable, kDirectoryJobVariable, "PMI_SIZE", "PMIX_NAMESPACE"};

struct Found {
    const Starter* starter = nullptr;
    Told told = Told::nothing;
};

/// One that tells of a single process ends the search, too: what is around it has not started this program.
Found look_in_environment() {
    for (const Starter& starter : kStarters) {
        if (const Told told = starter.told(); told != Told::nothing) return {&starter, told};
    }
    return {};
}

/// What this program starts is no rank: neither of this job nor of one that an outer starter tells of. Torchrun's variables stay,
/// because the program's framework needs them.
void take_out_of_environment() {
    for (const Starter& starter : kStarters) {
        if (starter.variable != kRankOfTorchrun) ::unsetenv(starter.variable);
    }
    for (const char* variable : kCompanions) ::unsetenv(variable);
}

/// The process that has joined, so that a second look in it is an error and not a job of one; its forked children may
/// look.
std::atomic<pid_t> joined_process = 0;

}  // namespace

Evidence evident_starter() {
    const auto [starter, told] = look_in_environment();
    if (told == Told::nothing) return {"alone", "", true, true};
    if (told == Told::one) return {"alone", starter->variable, true, true};
    return {starter->name, starter->variable, starter->join != nullptr, false};
}

std::unique_ptr<Bootstrap> find_bootstrap() {
    // Some starters' variables stay in the environment.
    if (joined_process == ::getpid()) {
        throw Error(ErrorCode::state,
                    "this process has already joined its job, and can do so once: let the parts of the program share its Job, each with a "
                    "communicator of its own (Communicator::duplicate())");
    }
    const auto [starter, told] = look_in_environment();
    if (told == Told::nothing) return std::make_unique<Alone>();
    std::unique_ptr<Bootstrap> bootstrap;
    if (told == Told::many) {
        if (!starter->join) {
            throw Error(ErrorCode::bootstrap,
                        fmt::format("this process was started by {} ({} is set), in a way that Rollcall does not support; start the job "
                                    "by `rollcall run`, or unset the variable to run alone",
                                    starter->name, starter->variable));
        }
        bootstrap = starter->join();
        joined_process = ::getpid();
    } else {
        bootstrap = std::make_unique<Alone>();
    }
    take_out_of_environment();
    return bootstrap;
}

}  // namespace rollcall::bootstrap
