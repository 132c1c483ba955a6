#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include <rollcall/error.hpp>

#include "runtime/bootstrap/alone.hpp"
#include "runtime/bootstrap/bootstrap.hpp"
#include "runtime/bootstrap/frames.hpp"
#include "runtime/bootstrap/launched.hpp"
#include "runtime/bootstrap/pmi.hpp"
#include "runtime/bootstrap/starters/directory.hpp"
#include "runtime/bootstrap/starters/torchrun.hpp"

namespace rollcall::bootstrap {
namespace {

using Names = std::vector<const char*>;

/// One way of being started, told by the environment.
struct Starter {
    const char* name;
    Names any;                             ///< At least one of these variables is set,
    Names all;                             ///< and all of these,
    Names tasks;                           ///< and the first of these that is set (if any is) is not "1": a job of one needs no bootstrap.
    std::unique_ptr<Bootstrap> (*join)();  ///< nullptr: evident, but not supported yet.
};

/// The process that has joined, so that a second look in it is an error and not a job of one; its forked children may
/// look.
std::atomic<pid_t> joined_process = 0;

std::unique_ptr<Bootstrap> join_rollcall_run() {
    auto bootstrap = std::make_unique<Launched>(std::getenv(kDescriptorVariable));
    // What this program starts is not a rank of this job.
    ::unsetenv(kDescriptorVariable);
    return bootstrap;
}

/// From the innermost to the outermost: `rollcall run` inside an allocation of Slurm's, or under somebody's mpiexec, is
/// nearer to the program than those.
const Starter kStarters[] = {
    {"rollcall run", {kDescriptorVariable}, {}, {}, join_rollcall_run},
    // Set by hand for this job, and taken out of the environment by who joins: nothing is nearer, but for the above.
    {"a rendezvous directory", {kDirectoryVariable}, {}, {kDirectorySizeVariable}, join_directory},
    // A torchrun is often started by srun or mpirun itself, once on each host; the reverse is not done.
    {"a launcher like torchrun", {"RANK"}, {"WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}, {"WORLD_SIZE"}, join_torchrun},
    {"Open MPI's mpirun", {"OMPI_COMM_WORLD_SIZE"}, {}, {"OMPI_COMM_WORLD_SIZE"}, nullptr},
    // Before srun: what speaks PMI-1 here is Slurm itself, or an mpiexec inside its allocation.
    {"a launcher that speaks PMI-1", {"PMI_FD"}, {"PMI_RANK", "PMI_SIZE"}, {"PMI_SIZE"}, join_pmi},
    {"srun (Slurm)", {"SLURM_PROCID"}, {"SLURM_STEP_ID"}, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, nullptr},
    {"a launcher that speaks PMI (mpiexec)", {"PMI_RANK", "PMI_FD"}, {}, {"PMI_SIZE", "SLURM_NTASKS"}, nullptr},
    {"a launcher that speaks PMIx", {"PMIX_RANK"}, {}, {"OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, nullptr},
};

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

bool evident(const Starter& starter) {
    bool any = false;
    for (const char* variable : starter.any) any = any || is_set(variable);
    if (!any) return false;
    for (const char* variable : starter.all) {
        if (!is_set(variable)) return false;
    }
    for (const char* variable : starter.tasks) {
        if (const char* value = std::getenv(variable)) return std::string_view(value) != "1";
    }
    return true;
}

}  // namespace

std::unique_ptr<Bootstrap> find_bootstrap() {
    // Some starters' variables stay in the environment.
    if (joined_process == ::getpid()) {
        throw Error(ErrorCode::state, "this process has already joined its job: find_bootstrap() is called once");
    }
    for (const Starter& starter : kStarters) {
        if (!evident(starter)) continue;
        if (starter.join != nullptr) {
            auto bootstrap = starter.join();
            joined_process = ::getpid();
            return bootstrap;
        }
        std::vector<std::string_view> found;
        for (const char* variable : starter.any) {
            if (is_set(variable)) found.emplace_back(variable);
        }
        throw Error(ErrorCode::bootstrap,
                    fmt::format("this process was started by {} ({} is set), which Rollcall does not support yet; start the "
                                "job by `rollcall run`, or unset the variable to run alone",
                                starter.name, fmt::join(found, ", ")));
    }
    return std::make_unique<Alone>();
}

}  // namespace rollcall::bootstrap
