#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sodium.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
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
#include "bootstrap/starters/outer_environment.hpp"
#include "bootstrap/starters/torchrun.hpp"

namespace rollcall::bootstrap {
namespace {

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

/// How many processes a starter has started, as far as the environment says.
enum class ProcessCount { none, one, many };

ProcessCount process_count(bool evident, const char* size) {
    if (!evident) return ProcessCount::none;
    return number_in_environment(size) == 1 ? ProcessCount::one : ProcessCount::many;
}

ProcessCount by_rollcall_run() { return process_count(is_set(kDescriptorVariable), kSizeVariable); }
ProcessCount by_directory() { return process_count(is_set(kDirectoryVariable), kDirectorySizeVariable); }
ProcessCount by_torchrun() { return process_count(torchrun_is_evident(), "WORLD_SIZE"); }
ProcessCount by_open_mpi() { return process_count(is_set("OMPI_COMM_WORLD_SIZE"), "OMPI_COMM_WORLD_SIZE"); }

ProcessCount by_pmi_with_open_socket() {
    struct stat status {};
    const bool open = is_set("PMI_FD") && ::fstat(number_in_environment("PMI_FD"), &status) == 0 && S_ISSOCK(status.st_mode);
    return process_count(open, "PMI_SIZE");
}

/// The socket must be open. Without it, an outer starter may have left the variables of a single process.
ProcessCount by_pmi() {
    return process_count(is_set("PMI_FD"), "PMI_SIZE") == ProcessCount::many ? ProcessCount::many : ProcessCount::none;
}

/// True only for the tasks of srun. A script of sbatch or a shell of salloc is no task, but may be in a step of its own with one task, and
/// start jobs itself. So a step of one task does not end the search.
ProcessCount by_srun() {
    const char* const size = is_set("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
    return process_count(is_set("SLURM_PROCID") && is_set("SLURM_STEP_ID"), size) == ProcessCount::many ? ProcessCount::many
                                                                                                        : ProcessCount::none;
}

/// PMIx does not put the size into the environment, but Slurm does.
ProcessCount by_pmix() {
    if (!is_set("PMIX_RANK")) return ProcessCount::none;
    const char* const name_space = std::getenv("PMIX_NAMESPACE");
    const bool of_slurm = name_space && std::string_view(name_space).starts_with("slurm.pmix.");
    return of_slurm && process_count(true, "SLURM_STEP_NUM_TASKS") == ProcessCount::one ? ProcessCount::none : ProcessCount::many;
}

/// Other starters that speak PMI, without an inherited socket.
ProcessCount by_other_pmi() { return process_count(!is_set("PMI_FD") && is_set("PMI_RANK"), "PMI_SIZE"); }

/// mpiexec.hydra -pmi-port: ranks are told a port in the place of an inherited socket, and their rank only over it.
ProcessCount by_pmi_port() { return process_count(!is_set("PMI_FD") && !is_set("PMI_RANK") && is_set("PMI_ID"), "PMI_SIZE"); }

std::unique_ptr<Bootstrap> join_rollcall_run() { return std::make_unique<Launched>(std::getenv(kDescriptorVariable)); }

/// A variable of a starter.
struct Variable {
    constexpr Variable(const char* variable = nullptr, bool is_kept = false) : name(variable), stays(is_kept) {}
    const char* name;  ///< nullptr: none.
    bool stays;        ///< It stays in the environment after this process has joined.
};
constexpr Variable kept(const char* variable) { return {variable, true}; }

/// A way of being started that the environment shows.
struct Starter {
    const char* name;
    Variable variable;  ///< The variable that shows it.
    ProcessCount (*count)();
    std::unique_ptr<Bootstrap> (*join)();  ///< nullptr: the starter is evident, but not supported.
    /// Further variables with which it tells a process its place.
    std::array<Variable, 3> of_place = {};

    bool is_rollcall_run() const { return variable.name == kDescriptorVariable; }
    /// Whether the predicate is true for one of its variables.
    template <class Predicate>
    bool any_variable(Predicate predicate) const {
        return predicate(variable) ||
               std::any_of(of_place.begin(), of_place.end(), [&](const Variable& each) { return each.name && predicate(each); });
    }
};

/// These go from the innermost starter to the outermost.
const Starter kStarters[] = {
    // It may run inside an allocation of Slurm or under the mpiexec of another program. Then it is nearer to the program than those.
    {"rollcall run", kDescriptorVariable, by_rollcall_run, join_rollcall_run},
    // The user sets this variable for this job, and the process that joins removes it. So only `rollcall run` is nearer.
    {"a rendezvous directory", kDirectoryVariable, by_directory, join_directory, {kDirectoryRankVariable, kDirectorySizeVariable}},
    // srun or mpirun often start a torchrun, once on each host. The reverse is not done. The program's framework needs its variables.
    {"a launcher like torchrun", kept("RANK"), by_torchrun, join_torchrun, {kept("WORLD_SIZE"), kept("MASTER_ADDR"), kept("MASTER_PORT")}},
    // This row comes before Open MPI: its mpirun closes descriptors that it does not know, so an open socket comes from within it.
    {"a launcher that speaks PMI-1", "PMI_FD", by_pmi_with_open_socket, join_pmi, {"PMI_RANK", "PMI_SIZE"}},
    // These rows come before srun: if PMI or PMIx is spoken inside a step, either Slurm speaks it itself, or a starter whose daemons srun
    // has started.
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", by_open_mpi, join_pmix, {kept("OMPI_COMM_WORLD_RANK"), "PMIX_NAMESPACE"}},
    {"a launcher that speaks PMI-1", "PMI_FD", by_pmi, join_pmi, {"PMI_RANK", "PMI_SIZE"}},
    {"a launcher that speaks PMIx", "PMIX_RANK", by_pmix, join_pmix, {"PMIX_NAMESPACE"}},
    {"srun (Slurm)", "SLURM_PROCID", by_srun, join_srun, {kept("SLURM_STEP_ID")}},
    {"a launcher that speaks PMI (mpiexec)", "PMI_RANK", by_other_pmi, nullptr, {"PMI_SIZE"}},
    {"a launcher that speaks PMI over a port (mpiexec -pmi-port)", "PMI_ID", by_pmi_port, nullptr, {"PMI_PORT"}},
};

/// Further variables that are taken out of the environment.
constexpr const char* kOurs[] = {kDirectoryJobVariable, kOuterEnvironmentVariable};

struct Found {
    const Starter* starter = nullptr;
    ProcessCount count = ProcessCount::none;
};

/// Whether a variable says something else than when `rollcall run` started the process (or its script). True if `rollcall run` did not.
bool is_new(const char* variable) {
    const char* const value = std::getenv(variable);
    const char* const outer = std::getenv(kOuterEnvironmentVariable);
    return value != nullptr && (outer == nullptr || !is_set(kDescriptorVariable) || !is_in_outer_environment(outer, variable, value));
}

/// A starter of a single process ends the search, too: the starters around it have not started this program. A `rollcall run` of one
/// process may have started a script. So starters of several processes in that script come first: they have changed the environment. One of
/// a single process does not. The program may have set its variables itself (those of torchrun, for its framework).
Found look_in_environment() {
    const bool in_script = by_rollcall_run() == ProcessCount::one && is_set(kOuterEnvironmentVariable);
    Found run;
    for (const Starter& starter : kStarters) {
        const ProcessCount count = starter.count();
        if (count == ProcessCount::none) continue;
        const bool is_run = starter.is_rollcall_run();
        // A job of `rollcall run` is joined also if it has one process, because the launcher waits for that.
        if (is_run) run = {&starter, ProcessCount::many};
        if (is_run && in_script) continue;
        if (is_run) return run;
        if (!in_script) return {&starter, count};
        if (count == ProcessCount::many && starter.any_variable([](const Variable& each) { return is_new(each.name); }))
            return {&starter, count};
    }
    return run;
}

/// Variables of a rendezvous directory without the directory. Without a starter of several processes, a job of one process would be made in
/// each of the processes, and all of them would be rank 0. A starter of one process may have started the script that starts the processes.
/// Returns nullptr if none is set, if they describe a single process, and if they were set around a `rollcall run`.
const char* place_without_directory() {
    const char* const size = std::getenv(kDirectorySizeVariable);
    if (is_set(kDirectoryVariable) || (size != nullptr && std::string_view(size) == "1")) return nullptr;
    for (const char* variable : {kDirectoryRankVariable, kDirectorySizeVariable})
        if (is_new(variable)) return variable;
    return nullptr;
}

/// Whether such variables show that the script of a starter of one process has left out the directory.
bool lacks_directory(const Found& found) {
    const bool starts_one =
        found.count != ProcessCount::many || (by_rollcall_run() == ProcessCount::one && found.starter->is_rollcall_run());
    return starts_one && place_without_directory() != nullptr;
}

/// The programs that this program starts are no ranks, neither of this job nor of one that an outer starter describes.
void take_out_of_environment() {
    const auto take_out = [](const Variable& variable) {
        if (variable.name != nullptr && !variable.stays) ::unsetenv(variable.name);
    };
    for (const Starter& starter : kStarters) {
        take_out(starter.variable);
        for (const Variable& each : starter.of_place) take_out(each);
    }
    for (const char* variable : kOurs) ::unsetenv(variable);
}

/// The process that has joined. If it looks again, that is an error and not a job of one process. Its forked children may look.
std::atomic<pid_t> joined_process = 0;

}  // namespace

// A forked child has another process id, and a program that this process executes has other random bytes from the kernel. They are hashed,
// because they also protect the stack.
std::string mark_of_this_process() {
    constexpr std::size_t kRandomBytes = 16;  // as AT_RANDOM promises
    std::array<unsigned char, crypto_generichash_BYTES_MIN> hash{};
    if (const auto* const random = reinterpret_cast<const unsigned char*>(::getauxval(AT_RANDOM)))
        ::crypto_generichash(hash.data(), hash.size(), random, kRandomBytes, nullptr, 0);
    return fmt::format("{}:{:02x}", ::getpid(), fmt::join(hash, ""));
}

Evidence evident_starter() {
    const Found found = look_in_environment();
    const auto [starter, count] = found;
    if (lacks_directory(found)) return {"a rendezvous directory", place_without_directory(), false, false};
    if (count != ProcessCount::many) return {"alone", starter != nullptr ? starter->variable.name : "", true, true};
    return {starter->name, starter->variable.name, starter->join != nullptr, false};
}

std::string encode_outer_environment(std::span<const std::string> environment) {
    std::string text = ";";
    for (const std::string& assignment : environment) {
        const auto is_assigned = [&](const Variable& each) {
            return assignment.starts_with(each.name) && std::string_view(assignment).substr(std::strlen(each.name)).starts_with('=');
        };
        const auto is_of_it = [&](const Starter& starter) { return !starter.is_rollcall_run() && starter.any_variable(is_assigned); };
        if (std::any_of(std::begin(kStarters), std::end(kStarters), is_of_it)) text += encode_outer_variable(assignment);
    }
    return text;
}

std::unique_ptr<Bootstrap> find_bootstrap() {
    // The variables of some starters stay in the environment.
    if (joined_process == ::getpid()) {
        throw Error(ErrorCode::state,
                    "this process has already joined its job, and can join only once: let all parts of the program make their "
                    "Job (in C: call rollcall_init()) before the last of them finalizes it; they then share the job of the process");
    }
    // A program and its plugins may each have a copy of the library. The copy that joined has removed the variables of the starter, so this
    // one would be a job of one process, or would join a second time as the same rank.
    if (const char* const mark = std::getenv(kJoinedVariable); mark && mark == mark_of_this_process()) {
        throw Error(ErrorCode::state,
                    "another copy of the Rollcall library in this process has already joined the job, and a process can join only once: "
                    "link the program and all its plugins to one shared library (librollcall.so)");
    }
    const Found found = look_in_environment();
    const auto [starter, count] = found;
    if (lacks_directory(found)) {
        throw Error(ErrorCode::bootstrap, fmt::format("{0} is set, but {1} is not: set {1} to a directory that all ranks see, or unset "
                                                      "{0} to run alone",
                                                      place_without_directory(), kDirectoryVariable));
    }
    if (count == ProcessCount::none) return std::make_unique<Alone>();
    std::unique_ptr<Bootstrap> bootstrap;
    if (count == ProcessCount::many) {
        if (!starter->join) {
            throw Error(ErrorCode::bootstrap,
                        fmt::format("this process was started by {} ({} is set), in a way that Rollcall does not support; start the job "
                                    "by `rollcall run`, or unset the variable to run alone",
                                    starter->name, starter->variable.name));
        }
        bootstrap = starter->join();
        joined_process = ::getpid();
        ::setenv(kJoinedVariable, mark_of_this_process().c_str(), 1);
    } else {
        bootstrap = std::make_unique<Alone>();
    }
    take_out_of_environment();
    return bootstrap;
}

}  // namespace rollcall::bootstrap
