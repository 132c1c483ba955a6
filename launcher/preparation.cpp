#include "launcher/preparation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "foundation/error_text.hpp"
#include "launcher/launch.hpp"
#include "launcher/processes/spawn.hpp"
#include "launcher/program.hpp"
#include "runtime/topology/binding.hpp"

namespace rollcall::launcher {
namespace {

std::vector<int> all_of(const std::vector<std::vector<int>>& processors) {
    std::vector<int> all;
    for (const auto& some : processors) all.insert(all.end(), some.begin(), some.end());
    return all;
}

/// Binds ranks to cores that no other job has claimed, or returns why it cannot. Either way the claims then belong to this job.
std::string bind_to_free_cores(int ranks, MapBy map, Claims& claims, std::vector<std::vector<int>>& bound) {
    if (ranks == 1) return "it is the only rank of this host";
    if (!claims.possible()) return "this system does not show which cores other jobs have";
    const auto usable = runtime::cpus_of();
    const auto fewest = static_cast<std::size_t>(ranks);
    if (usable.size() < fewest) return "there are more ranks than cores";
    Machine machine = load_cores(usable);
    if (machine.cores.size() < fewest) return "there are more ranks than cores";
    const auto claimed = claims.claimed_by_others(usable);
    std::erase_if(machine.cores, [&](const Core& core) {
        return std::find_first_of(core.processors.begin(), core.processors.end(), claimed.begin(), claimed.end()) != core.processors.end();
    });
    if (machine.cores.size() < fewest) return fmt::format("other jobs have CPUs {}", runtime::format_cpus(claimed));
    bound = bind_ranks(machine, ranks, map, BindTo::automatic);
    const auto taken = all_of(bound);
    if (!claims.claim(taken)) return fmt::format("cores cannot be claimed ({})", error_text(errno));
    return claims.claimed_by_others(taken).empty() ? std::string() : "another job took the same cores at the same time";
}

/// Changes to the directory of the order, by the first of its names that is there.
bool change_directory(const Order& order) {
    if (order.directory.empty() || ::chdir(order.directory.c_str()) == 0) return true;
    const int error = errno;
    if (!order.real_directory.empty() && ::chdir(order.real_directory.c_str()) == 0) return true;
    errno = error;
    return false;
}

/// The name of this process's directory that its programs find in PWD: the one that the launcher uses, if it leads here.
std::string name_of_directory(const Order& order) {
    std::error_code failed;
    auto name = std::filesystem::path(order.directory).lexically_normal();
    if (!name.has_filename()) name = name.parent_path();
    if (name.is_absolute() && std::filesystem::equivalent(name, ".", failed)) return name.string();
    return std::filesystem::current_path(failed).string();
}

}  // namespace

HostBinding bind_host(int ranks, MapBy map, BindTo bind, Claims& claims) {
    HostBinding binding;
    if (bind == BindTo::automatic) {
        binding.not_bound = bind_to_free_cores(ranks, map, claims, binding.processors);
        if (!binding.not_bound.empty()) binding.processors.clear();
        binding.places.resize(binding.processors.size());
    } else if (bind != BindTo::none) {
        const Machine machine = load_machine();
        binding.processors = bind_ranks(machine, ranks, map, bind);
        for (const auto& processors : binding.processors) binding.places.push_back(name_place(machine, processors, bind));
        // The user asked for this binding, so the ranks are bound even where nothing can be claimed.
        static_cast<void>(claims.claim(all_of(binding.processors)));
    }
    if (binding.processors.empty()) claims.release();
    return binding;
}

Prepared prepare_host(const Order& order, const std::string& host, Preparation& found) {
    const HostOrder& own = order.hosts.front();
    Prepared result;
    result.host = own.index;
    if (own.ranks.empty()) return result;
    const auto refuse = [&](int code, std::string sentence) {
        result.code = code;
        result.refusal = std::move(sentence);
        return result;
    };
    if (!change_directory(order)) {
        return refuse(1, fmt::format("host {} has no directory '{}' to start in ({}); start from a directory that all hosts have, or give "
                                     "--directory",
                                     host, order.directory, error_text(errno)));
    }
    // UCX handles SIGHUP itself unless this setting forbids it. But SIGHUP should end a rank, as it ends any program.
    auto base = with_environment({"UCX_DEBUG_SIGNO=0"}, own_environment());
    base = with_environment(with_environment(std::move(base), {"PWD=" + name_of_directory(order)}), order.environment);
    for (const auto& application : order.applications) {
        found.environments.push_back(with_environment(base, application.environment));
        Found program = find_program(application.argv.front(), found.environments.back());
        found.programs.push_back(std::move(program.path));
        const auto index = static_cast<int>(found.programs.size()) - 1;
        const bool runs_here = std::any_of(own.ranks.begin(), own.ranks.end(), [&](const auto& rank) { return rank.application == index; });
        if (program.error == 0 || !runs_here) continue;
        const auto& name = application.argv.front();
        const bool in_path = name.find('/') == std::string::npos;
        const std::string why = in_path ? program.error == ENOENT ? "there is no such program in PATH" : error_text(program.error)
                                        : explain_exec_failure(name, program.error).why;
        return refuse(program.error == EACCES ? kExitNotExecutable : kExitNotFound,
                      fmt::format("cannot start '{}'{}: {}", name, order.hosts_of_job > 1 ? " on host " + host : "", why));
    }
    auto binding = bind_host(static_cast<int>(own.ranks.size()), order.map_by, order.bind_to, found.claims);
    found.processors = binding.processors;
    const std::set<std::vector<int>> places(binding.processors.begin(), binding.processors.end());
    if ((order.bind_to == BindTo::core || order.bind_to == BindTo::hwthread) && places.size() < own.ranks.size()) {
        const char* const what = order.bind_to == BindTo::core ? "core" : "hardware thread";
        result.warning = fmt::format(
            "host {} has {} {}{} for {} ranks, which share them and slow each other down; give --bind-to none, "
            "or start fewer ranks there",
            host, places.size(), what, places.size() == 1 ? "" : "s", own.ranks.size());
    }
    result.binding = std::move(binding);
    return result;
}

}  // namespace rollcall::launcher
