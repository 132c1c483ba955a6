#include "launcher/launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/network.hpp"
#include "foundation/clock.hpp"
#include "foundation/host_name.hpp"
#include "launcher/hosts/job_map.hpp"
#include "launcher/job.hpp"
#include "launcher/pair.hpp"
#include "launcher/preparation.hpp"
#include "runtime/topology/binding.hpp"

namespace rollcall::launcher {
namespace {

/// Which variables of this process's environment the ranks on other hosts get, besides those of --env: variables that change how Rollcall
/// and the libraries under it behave, and variables that say where programs and libraries are.
bool goes_along(std::string_view assignment) {
    for (const std::string_view prefix : {"ROLLCALL_", "UCX_", "FI_", "OMP_", "PATH=", "LD_LIBRARY_PATH="}) {
        if (assignment.starts_with(prefix)) return true;
    }
    return false;
}

/// Agents inherit the environment of their srun, but not these variables. Their ranks are to have them, as the ranks of this host do.
bool is_kept_from_srun(std::string_view assignment) {
    const auto name = assignment.substr(0, assignment.find('='));
    return std::find(std::begin(kSettingsOfSrun), std::end(kSettingsOfSrun), name) != std::end(kSettingsOfSrun);
}

/// Sets where the programs start, on all hosts, whichever directory a remote shell begins in.
void set_directory(Order& order, const std::string& directory) {
    std::error_code failed;
    const auto real = std::filesystem::current_path(failed);
    const char* const name = std::getenv("PWD");
    // Other hosts may know a directory only by the name that the user has for it, as with an automounter or a home that is a link.
    const bool is_here = name != nullptr && *name == '/' && std::filesystem::equivalent(name, ".", failed);
    const auto here = is_here ? std::filesystem::path(name) : real;
    order.directory = (directory.empty() ? here : here / directory).string();
    order.real_directory = (directory.empty() ? real : real / directory).string();
    if (order.real_directory == order.directory) order.real_directory.clear();
}

/// The name of this host with its domain, as the resolver knows it. Empty if the resolver does not know it.
std::string full_host_name(const std::string& own) {
    addrinfo hints{};
    hints.ai_flags = AI_CANONNAME;
    addrinfo* found = nullptr;
    if (::getaddrinfo(own.c_str(), nullptr, &hints, &found) != 0) return {};
    std::string name = found->ai_canonname != nullptr ? found->ai_canonname : "";
    ::freeaddrinfo(found);
    return name;
}

std::string in_lower_case(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char letter) { return static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter); });
    return name;
}

bool is_this_host(const std::string& name_or_address) {
    if (const auto address = bootstrap::SocketAddress::parse(name_or_address, 0))
        return !address->wildcard() && bootstrap::is_of_this_host(*address);
    const std::string name = in_lower_case(name_or_address);
    const std::string own = in_lower_case(host_name());
    if (name == "localhost" || name == own || name == own.substr(0, own.find('.'))) return true;
    // The name is `own` with a domain. It may be a host of the same name at another site.
    return own == name.substr(0, name.find('.')) && name == in_lower_case(full_host_name(own));
}

int count_ranks(const LaunchOptions& options) {
    if (options.applications.empty()) throw Error(ErrorCode::invalid_argument, "a job needs at least one application");
    int ranks = 0;
    for (const Application& application : options.applications) {
        if (application.argv.empty()) throw Error(ErrorCode::invalid_argument, "an application needs a program");
        if (application.ranks < 1 || application.ranks > kMostRanks - ranks) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{} ranks of '{}': a job has 1 to {}", application.ranks, application.argv[0], kMostRanks));
        }
        ranks += application.ranks;
    }
    return ranks;
}

/// Adds the hosts with their ranks. Returns whether rank 0 is on this host.
bool add_host_orders(Order& order, const LaunchOptions& options) {
    const bool named = !options.hosts.empty();
    std::vector<Host> hosts = options.hosts;
    if (!named) hosts.push_back({host_name(), order.size, true});
    const auto host_of_rank = place_ranks(hosts, order.size, options.map_by, options.per_node, options.oversubscribe || !named);
    const auto placements = number_local_ranks(host_of_rank);

    // This host comes first, whether or not it has ranks. Other hosts without ranks get no agent.
    HostOrder here;
    here.index = -1;
    here.name = host_name();
    order.hosts.push_back(here);
    std::vector<int> place(hosts.size(), -1);  // the host's place in order.hosts
    int application = 0, first = 0;
    for (int rank = 0; rank < order.size; ++rank) {
        const auto host = static_cast<std::size_t>(host_of_rank[static_cast<std::size_t>(rank)]);
        // If the user gives a command as the remote shell, that command decides what a host's name means.
        const bool known = options.agent.empty() || options.agent == kSsh || options.agent == kSrun;
        if (place[host] < 0 && order.hosts.front().index < 0 && known && is_this_host(hosts[host].name)) place[host] = 0;
        if (place[host] < 0) {
            place[host] = static_cast<int>(order.hosts.size());
            order.hosts.emplace_back();
        }
        HostOrder& its = order.hosts[static_cast<std::size_t>(place[host])];
        its.index = static_cast<int>(host);
        its.name = hosts[host].name;
        while (rank - first >= options.applications[static_cast<std::size_t>(application)].ranks) {
            first += options.applications[static_cast<std::size_t>(application)].ranks;
            ++application;
        }
        its.ranks.push_back({rank, application, placements[static_cast<std::size_t>(rank)].local_rank});
    }
    order.hosts_of_job =
        static_cast<int>(std::count_if(order.hosts.begin(), order.hosts.end(), [](const HostOrder& host) { return !host.ranks.empty(); }));
    return order.hosts.front().index >= 0 && place[static_cast<std::size_t>(host_of_rank.front())] == 0;
}

/// Makes the tree of the agents: the launcher starts `fanout` agents, and each of them starts the next ones. 0: the launcher starts all.
void make_tree(std::vector<HostOrder>& hosts, int fanout) {
    if (fanout <= 0) fanout = static_cast<int>(hosts.size());
    for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i].above = i == 0 ? -1 : (static_cast<int>(i) - 1) / fanout;
}

}  // namespace

Order make_order(const LaunchOptions& options) {
    Order order;
    order.size = count_ranks(options);
    order.job = fmt::format("{}-{}-{:x}", host_name(), ::getpid(), monotonic_now());
    for (const Application& application : options.applications) order.applications.push_back({application.argv, application.environment});
    order.map_by = options.map_by;
    order.bind_to = options.bind_to;
    order.remote_shell = options.agent;
    order.silence = options.silence.count();
    order.launch_timeout = options.launch_timeout.count();
    set_directory(order, options.directory);
    std::error_code failed;
    order.command = options.command.empty() ? std::filesystem::read_symlink("/proc/self/exe", failed).string() : options.command;

    const bool first_is_here = add_host_orders(order, options);
    make_tree(order.hosts, options.fanout);
    if (order.hosts.size() > 1) {
        for (const auto& assignment : own_environment()) {
            if (goes_along(assignment) || (options.agent == kSrun && is_kept_from_srun(assignment)))
                order.environment.push_back(assignment);
        }
    }
    order.environment.insert(order.environment.end(), options.environment.begin(), options.environment.end());

    // A rank on this host reads standard input itself. It cannot if that is a terminal, which the processes of a job may not read.
    if (options.input == StandardInput::all) {
        for (int rank = 0; rank < order.size; ++rank) order.input_ranks.push_back(rank);
    } else if (options.input == StandardInput::first && (!first_is_here || ::isatty(STDIN_FILENO) != 0)) {
        order.input_ranks.push_back(0);
    }
    return order;
}

std::string describe(const LaunchOptions& options) {
    const Order order = make_order(options);
    std::vector<MappedRank> rows(static_cast<std::size_t>(order.size));
    std::vector<std::vector<int>> ranks_of(order.applications.size());
    std::string ways;
    for (std::size_t i = 0; i < order.hosts.size(); ++i) {
        const HostOrder& host = order.hosts[i];
        HostBinding binding;
        Claims claims;  // given back at once, because nothing is started
        if (i == 0 && !host.ranks.empty()) {
            binding = bind_host(static_cast<int>(host.ranks.size()), options.map_by, options.bind_to, claims);
        }
        for (const auto& rank : host.ranks) {
            rows[static_cast<std::size_t>(rank.rank)] = mapped_rank(host.name, binding, rank.local_rank);
            ranks_of[static_cast<std::size_t>(rank.application)].push_back(rank.rank);
        }
        if (i == 0) continue;
        auto words = remote_command(order.remote_shell, host.name, order.command);
        std::transform(words.begin(), words.end(), words.begin(), shell_word);
        ways += fmt::format("host {} by: {}\n", host.name, fmt::join(words, " "));
    }
    std::string text = draw_map(rows);
    for (std::size_t i = 0; i < order.applications.size(); ++i) {
        std::string words;
        for (const std::string& word : order.applications[i].argv) words += " " + shell_word(word);
        std::sort(ranks_of[i].begin(), ranks_of[i].end());
        text += fmt::format("ranks {}:{}\n", runtime::format_cpus(ranks_of[i]), words);
    }
    return text + ways;
}

int run(const LaunchOptions& options, bool* interrupted) {
    Order order = make_order(options);
    for (std::size_t i = 1; i < order.hosts.size(); ++i)
        remote_command(order.remote_shell, order.hosts[i].name, order.command);  // it may refuse the words
    PairOptions pair;
    // A guard that is stopped cannot end the job. Agents hear nothing of a stopped guard, and end their ranks.
    pair.stopped = options.silence;
    pair.limit = options.timeout;
    pair.interrupted = interrupted;
    return run_guarded(
        [&](Guarded& guarded) {
            Poller poller;
            Job job(poller, guarded, options, std::move(order));
            return job.run();
        },
        pair);
}

}  // namespace rollcall::launcher
