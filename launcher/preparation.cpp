#include "launcher/preparation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "launcher/launch.hpp"
#include "launcher/spawn.hpp"

namespace rollcall::launcher {

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
    if (!order.directory.empty() && ::chdir(order.directory.c_str()) != 0) {
        return refuse(1, fmt::format("host {} has no directory '{}' to start in ({}); start from a directory that all hosts have, or give "
                                     "--directory",
                                     host, order.directory, std::strerror(errno)));
    }
    // UCX takes SIGHUP for itself unless it is told not to: a rank that is hung up is to end, as any program does.
    const auto base = with_environment(with_environment({"UCX_DEBUG_SIGNO=0"}, own_environment()), order.environment);
    for (const auto& application : order.applications) {
        found.environments.push_back(with_environment(base, application.environment));
        Found program = find_program(application.argv.front(), found.environments.back());
        found.programs.push_back(std::move(program.path));
        const auto index = static_cast<int>(found.programs.size()) - 1;
        const bool runs_here = std::any_of(own.ranks.begin(), own.ranks.end(), [&](const auto& rank) { return rank.application == index; });
        if (program.error == 0 || !runs_here) continue;
        const auto& name = application.argv.front();
        return refuse(program.error == EACCES ? kExitNotExecutable : kExitNotFound,
                      fmt::format("cannot start '{}'{}: {}", name, order.hosts_of_job > 1 ? " on host " + host : "",
                                  program.error == ENOENT && name.find('/') == std::string::npos ? "there is no such program in PATH"
                                                                                                 : std::strerror(program.error)));
    }
    if (order.bind_to != BindTo::none) {
        const Machine machine = load_machine();
        found.processors = bind_ranks(machine, static_cast<int>(own.ranks.size()), order.map_by, order.bind_to);
        result.processors = found.processors;
        const std::set<std::vector<int>> places(found.processors.begin(), found.processors.end());
        if ((order.bind_to == BindTo::core || order.bind_to == BindTo::hwthread) && places.size() < own.ranks.size()) {
            const char* const what = order.bind_to == BindTo::core ? "core" : "hardware thread";
            result.warning = fmt::format(
                "host {} has {} {}{} for {} ranks, which share them and slow each other down; give --bind-to none, "
                "or start fewer ranks there",
                host, places.size(), what, places.size() == 1 ? "" : "s", own.ranks.size());
        }
        for (const auto& processors : found.processors) result.places.push_back(name_place(machine, processors, order.bind_to));
    }
    return result;
}

}  // namespace rollcall::launcher
