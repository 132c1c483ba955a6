#include "bench/peers/peer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <rollcall/error.hpp>
#include <sstream>

#include "bench/cases/lists.hpp"
#include "bench/ranks/child.hpp"
#include "bench/ranks/companion.hpp"
#include "bench/ranks/start.hpp"
#include "foundation/units.hpp"
#include "launcher/hosts/binding.hpp"
#include "runtime/topology/binding.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace {

using PeerWords = std::vector<std::string>;

constexpr const char *kOpenMpi = "openmpi", *kOpenMpiLauncher = ROLLCALL_MPIRUN_OPENMPI, *kMpichLauncher = ROLLCALL_MPIRUN_MPICH;
/// Read by the library that is loaded before MPICH (yield.c).
constexpr const char* kPeerYield = "ROLLCALL_PEER_YIELD";

/// A peer may be this many times slower than Rollcall, and need this long to start, before it is taken to hang.
constexpr int kSlower = 10;
constexpr Timeout kLeastLimit = std::chrono::seconds(120);

std::string where_from(const Peer& peer) {
    return fmt::format("install {} (Debian and Ubuntu; docs/benchmarking.md says what to do elsewhere)", peer.packages);
}

std::string peer_file(const Peer& peer, const std::string& name) {
    return find_companion("peers", name, where_from(peer) + ", and configure and build again").string();
}

void add(PeerWords& words, const PeerWords& more) { words.insert(words.end(), more.begin(), more.end()); }

/// How the ranks of a peer are started on a cluster. All emulated hosts have the same cores. Binding would put all ranks on the first ones,
/// so ranks are not bound. pml ob1 with btl tcp is what Open MPI's documentation names for TCP
/// (docs.open-mpi.org, "Tuning MPI applications", "Networking support", "TCP").
PeerWords on_cluster(const Peer& peer, const EmulatedCluster& cluster, int ranks) {
    PeerWords hosts;
    for (const launcher::Host& host : cluster.hosts(ranks)) hosts.push_back(fmt::format("{}:{}", host.name, host.slots));
    const std::string list = fmt::format("{}", fmt::join(hosts, ",")), shell = cluster.remote_shell().string();
    if (peer.name == kOpenMpi) {
        PeerWords words = {kOpenMpiLauncher, "--allow-run-as-root", "--bind-to", "none", "--host", list, "--mca", "plm_rsh_agent", shell};
        for (const auto& [name, value] :
             {std::pair("plm_rsh_no_tree_spawn", "1"), std::pair("pml", "ob1"), std::pair("btl", "tcp,vader,self"),
              std::pair("btl_tcp_if_include", EmulatedCluster::network()), std::pair("oob_tcp_if_include", EmulatedCluster::network())})
            add(words, {"--mca", name, value});
        return words;
    }
    return {kMpichLauncher, "-launcher", "ssh", "-launcher-exec", shell, "-bind-to", "none", "-hosts", list};
}

/// The words of hydra that give each rank the cores that Rollcall's rank has. None where Rollcall's ranks are not bound.
PeerWords binding_of(int ranks) {
    const launcher::Machine machine = launcher::load_cores(runtime::cpus_of());
    std::vector<std::string> parts;
    for (const std::vector<int>& cpus : launcher::bind_ranks(machine, ranks, launcher::MapBy::slot, launcher::BindTo::automatic))
        if (!cpus.empty()) parts.push_back(fmt::format("{}", fmt::join(cpus, "+")));
    return parts.empty() ? PeerWords{} : PeerWords{"-bind-to", fmt::format("user:{}", fmt::join(parts, ","))};
}

}  // namespace

const std::vector<Peer>& peers() {
    static const std::vector<Peer> all = {
        // mpi_yield_when_idle: `ompi_info --param mpi all --level 9` says what it does, and that mpirun sets it by itself where a host has
        // more ranks than slots. An emulated host does not know of the ranks on other hosts, so it is set wherever CPUs are shared.
        // mpirun binds by default: up to two ranks to a core each, more ranks to a socket each.
        {.name = kOpenMpi,
         .launcher = {kOpenMpiLauncher, "--allow-run-as-root", "--oversubscribe"},
         .yielding = {"--mca", "mpi_yield_when_idle", "1"},
         .preload = "",
         .packages = "openmpi-bin libopenmpi-dev"},
        // MPICH 4.0 over UCX polls without yielding. Its variable for this, MPIR_CVAR_POLLS_BEFORE_YIELD (`mpivars`), has no effect there:
        // with 1, strace sees no sched_yield. If ranks shared CPUs, each step would take a time slice. So a library is loaded (yield.c).
        {.name = "mpich",
         .launcher = {kMpichLauncher},
         .yielding = {},
         .preload = "librollcall-peer-yield.so",
         .packages = "mpich libmpich-dev",
         .must_be_told_to_bind = true},
    };
    return all;
}

void add_peer_option(usage::Command& command, std::vector<std::string>& words) {
    command.add_option("--peer", words, "Also run this MPI library in each round, and compare: openmpi, mpich, all; may be given again")
        ->type_name("openmpi|mpich|all,...")
        ->one_word_each_time();
}

std::vector<const Peer*> parse_peers(const std::vector<std::string>& words) {
    std::vector<Choice> choices;
    for (const Peer& peer : peers()) choices.push_back({.name = peer.name});
    std::vector<const Peer*> chosen;
    for (const std::string& text : words)
        for (const std::string& name : parse_names(text, "peer", choices))
            for (const Peer& peer : peers())
                if (peer.name == name && std::find(chosen.begin(), chosen.end(), &peer) == chosen.end()) chosen.push_back(&peer);
    return chosen;
}

std::string peer_transport(const EmulatedCluster* cluster) { return cluster != nullptr ? "tcp" : "its own choice"; }

std::string peer_program(const Peer& peer, const std::string& program) {
    if (!peer.preload.empty()) peer_file(peer, peer.preload);
    return peer_file(peer, fmt::format("{}-{}", program, peer.name));
}

void require_peers(const std::vector<const Peer*>& chosen, const Inherited& inherited, const std::string& program) {
    if (!chosen.empty() && inside_job() && samples_path(inherited).empty())
        throw Error(ErrorCode::invalid_argument, "--peer in a job that is already running; allowed: outside of one");
    if (inside_job()) return;
    for (const Peer* peer : chosen) peer_program(*peer, program);
}

std::vector<std::string> peer_command(const Peer& peer, int ranks, const std::vector<std::string>& program,
                                      const EmulatedCluster* cluster) {
    PeerWords words = cluster != nullptr ? on_cluster(peer, *cluster, ranks) : peer.launcher;
    // All emulated hosts have the CPUs of this one. Rollcall's ranks yield in the same case.
    const bool shares_cpus = share_cpus(ranks);
    if (shares_cpus) add(words, peer.yielding);
    if (peer.must_be_told_to_bind && cluster == nullptr) add(words, binding_of(ranks));
    add(words, {"-n", std::to_string(ranks)});
    if ((shares_cpus || cluster != nullptr) && !peer.preload.empty())
        add(words, {"-genv", "LD_PRELOAD", peer_file(peer, peer.preload), "-genv", kPeerYield, shares_cpus ? "yes" : "no"});
    add(words, program);
    return cluster != nullptr ? cluster->at_head(words) : words;
}

Timeout peer_limit(const Start& start, Nanoseconds ours) {
    return start.timeout != kForever ? start.timeout : kLeastLimit + kSlower * Timeout(ours);
}

PeerLines run_peer(const Peer& peer, int ranks, const std::vector<std::string>& program, const EmulatedCluster* cluster, Timeout limit) {
    const SignalsToEnd signals;
    ChildOptions options{.environment = {}, .timeout = limit, .signals = &signals};
    if (cluster != nullptr) options.environment.push_back("EMULATED_CLUSTER=" + cluster->name());
    const ChildResult result = run_child(peer_command(peer, ranks, program, cluster), {}, options);
    const std::string launcher = peer.launcher.front();
    // On a cluster, the program is started by env, which reports a missing program with 127.
    if (!result.found || (cluster != nullptr && result.exit_code == 127))
        throw Error(ErrorCode::state, fmt::format("{} is not there: {}", launcher, where_from(peer)));
    if (result.interrupted != 0)
        throw usage::EarlyEnd(ErrorCode::state, fmt::format("signal {} came while the peer {} ran", result.interrupted, peer.name),
                              usage::kSignal + result.interrupted);
    if (result.timed_out)
        throw usage::EarlyEnd(ErrorCode::timeout,
                              fmt::format("the peer {} did not end within {}; --timeout sets another limit{}{}", peer.name,
                                          format_duration(static_cast<double>(std::chrono::nanoseconds(limit).count()) * 1e-9),
                                          result.errors.empty() ? "" : "; it printed: ", result.errors),
                              usage::kTimeOver);
    if (result.exit_code != 0)
        throw Error(ErrorCode::state, fmt::format("the peer {} failed (exit code {}): {}", peer.name, result.exit_code, result.errors));
    PeerLines lines;
    std::istringstream output(result.output);
    for (std::string line; std::getline(output, line);) {
        std::istringstream numbers(line);
        lines.emplace_back();
        for (double value = 0; numbers >> value;) lines.back().push_back(value);
    }
    return lines;
}

void require_lines(const Peer& peer, const PeerLines& lines, std::size_t count, std::size_t most) {
    if (lines.size() != count)
        throw Error(ErrorCode::state, fmt::format("the peer {} printed {} lines instead of {}", peer.name, lines.size(), count));
    for (const std::vector<double>& line : lines)
        if (line.empty() || line.size() > most)
            throw Error(ErrorCode::state, fmt::format("the peer {} printed {} samples instead of 1 to {}", peer.name, line.size(), most));
}

}  // namespace rollcall::bench
