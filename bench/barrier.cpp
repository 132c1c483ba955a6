#include "bench/barrier.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <rollcall/rollcall.hpp>
#include <sstream>

#include "bench/child.hpp"
#include "bench/clock.hpp"
#include "bench/lists.hpp"
#include "bench/rounds.hpp"

namespace rollcall::bench {
namespace {

constexpr int kDefaultRanks = 8;
constexpr std::uint64_t kDefaultIterations = 10, kDefaultRounds = 5, kDefaultBatch = 500;
/// On a machine so busy that a batch takes far longer than planned, there are fewer of them.
constexpr Nanoseconds kLongest = 10'000'000'000;
constexpr const char* kKey = "barrier";
constexpr auto kPeerLimit = std::chrono::seconds(120);

/// An MPI library to compare with: how its program is started, with {n}, and what must be there.
struct Peer {
    const char* name;
    const char* program;
    std::vector<std::string> launcher;
    std::vector<std::string> environment;
    const char* preload;  ///< A library beside the program, or null.
    const char* packages;
};

const std::vector<Peer>& peers() {
    static const std::vector<Peer> all = {
        {.name = "openmpi",
         .program = "barrier-openmpi",
         .launcher = {"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n"},
         .environment = {},
         .preload = nullptr,
         .packages = "openmpi-bin libopenmpi-dev"},
        // MPICH 4.0 polls without yielding: where ranks share cores each step would take a time slice.
        {.name = "mpich",
         .program = "barrier-mpich",
         .launcher = {"mpiexec.hydra", "-n"},
         .environment = {},
         .preload = "librollcall-peer-yield.so",
         .packages = "mpich libmpich-dev"},
    };
    return all;
}

struct Words : RoundWords {
    Words() { iterations = kDefaultIterations, rounds = kDefaultRounds; }
    std::vector<std::string> peers;
    std::uint64_t batch = kDefaultBatch;
    bool explain = false;
};

struct Plan {
    std::vector<const Peer*> peers;
    std::vector<TransportChoice> transports;
    std::uint64_t iterations, batch;
};

/// The file of a peer: in the build tree beside the command, installed in libexec.
std::string peer_file(const Peer& peer, const std::string& name) {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    for (const auto& directory : {here / "peers", here.parent_path() / "libexec" / "rollcall"})
        if (std::filesystem::exists(directory / name)) return (directory / name).string();
    throw Error(ErrorCode::state,
                fmt::format("the peer {} was not built: install {} and configure and build again", peer.name, peer.packages));
}

std::vector<double> run_peer(const Peer& peer, int ranks, const Plan& plan) {
    std::vector<std::string> words = peer.launcher;
    words.insert(words.end(), {std::to_string(ranks)});
    if (peer.preload != nullptr) words.insert(words.end(), {"-genv", "LD_PRELOAD", peer_file(peer, peer.preload)});
    words.insert(words.end(), {peer_file(peer, peer.program), std::to_string(plan.iterations), std::to_string(plan.batch)});
    const ChildResult result = run_child(words, {}, {peer.environment, kPeerLimit});
    if (!result.found) throw Error(ErrorCode::state, fmt::format("{} is not there: install {}", words.front(), peer.packages));
    if (result.exit_code != 0 || result.timed_out)
        throw Error(ErrorCode::state, fmt::format("the peer {} {} (exit code {}): {}", peer.name,
                                                  result.timed_out ? "did not end in time" : "failed", result.exit_code, result.errors));
    std::vector<double> samples;
    std::istringstream lines(result.output);
    for (double value = 0; lines >> value;) samples.push_back(value);
    if (samples.size() != plan.iterations)
        throw Error(ErrorCode::state,
                    fmt::format("the peer {} printed {} samples instead of {}", peer.name, samples.size(), plan.iterations));
    return samples;
}

Samples measure_in(Job& job, const Plan& plan) {
    const Communicator& world = job.world();
    Samples samples;
    samples.transport = transport_name();
    samples.explanation = world.explain_barrier();
    for (std::uint64_t i = 0; i < plan.batch / 10 + 1; ++i) world.barrier();
    const Nanoseconds until = now() + kLongest;
    for (std::uint64_t iteration = 0; iteration < plan.iterations; ++iteration) {
        bool go_on = iteration < kFewestSamples || now() < until;
        world.broadcast(go_on, 0);
        if (!go_on) break;
        world.barrier();
        const Nanoseconds begin = now();
        for (std::uint64_t i = 0; i < plan.batch; ++i) world.barrier();
        samples.values[kKey].push_back(static_cast<double>(now() - begin) * 1e-9 / static_cast<double>(plan.batch));
    }
    return samples;
}

Plan plan_of(const Words& words) {
    Plan plan{.peers = {}, .transports = parse_transports(words.transports), .iterations = words.iterations, .batch = words.batch};
    std::vector<Choice> choices;
    for (const Peer& peer : peers()) choices.push_back({.name = peer.name});
    for (const std::string& text : words.peers)
        for (const std::string& name : parse_names(text, "peer", choices))
            for (const Peer& peer : peers())
                if (peer.name == name) plan.peers.push_back(&peer);
    for (const TransportChoice& transport : plan.transports)
        if (!plan.peers.empty() && transport.name == "tcp")
            throw Error(ErrorCode::invalid_argument, "--peer with --transport tcp; allowed: default, shm, which is what the peers use");
    return plan;
}

int run(const Words& words) {
    const Start start = checked(words.start, kDefaultRanks, 1);
    const Plan plan = plan_of(words);
    CellPrinter printer(std::cout, words.format);
    const auto explain = [&](const Samples& samples) {
        // Where rows are for programs, sentences are not among them.
        if (words.explain) (words.format == output::Format::text ? std::cout : std::cerr) << samples.explanation << std::endl;
    };
    const auto identity = [&](const std::string& who, const std::string& transport) {
        return CellIdentity{.operation = "barrier", .algorithm = who, .transport = transport, .ranks = start.ranks};
    };

    if (inside_job()) {
        if (!plan.peers.empty() && words.inherited.samples < 0)
            throw Error(ErrorCode::invalid_argument, "--peer in a job that is already running; allowed: outside of one");
        run_in_job(
            words.inherited, [&](Job& job) { return measure_in(job, plan); },
            [&](const Samples& samples) {
                explain(samples);
                printer.add(plain_cell(identity("rollcall", samples.transport), samples.values.at(kKey)));
                printer.finish();
            });
        return 0;
    }

    for (const Peer* peer : plan.peers) {
        peer_file(*peer, peer->program);
        if (peer->preload != nullptr) peer_file(*peer, peer->preload);
    }
    for (const TransportChoice& transport : plan.transports) {
        Rounds ours;
        std::vector<Rounds> theirs(plan.peers.size());
        std::string name;
        const int failed = run_rounds(start, transport.environment, words.rounds, [&](const Samples& samples) {
            if (ours.empty()) explain(samples);
            name = samples.transport;
            ours.push_back(samples.values.at(kKey));
            for (std::size_t peer = 0; peer < plan.peers.size(); ++peer)
                theirs[peer].push_back(run_peer(*plan.peers[peer], start.ranks, plan));
        });
        if (failed) return failed;
        Cell cell = plain_cell(identity("rollcall", name), together(ours));
        if (!plan.peers.empty()) cell.metrics.push_back(undefined("rollcall_ratio", Unit::ratio));
        printer.add(cell);
        for (std::size_t peer = 0; peer < plan.peers.size(); ++peer) {
            cell = plain_cell(identity(plan.peers[peer]->name, "its own choice"), together(theirs[peer]));
            cell.metrics.push_back(metric("rollcall_ratio", Unit::ratio, ratios(ours, theirs[peer])));
            printer.add(cell);
        }
    }
    printer.finish();
    return 0;
}

}  // namespace

void add_barrier_command(CLI::App& bench, int& exit_code) {
    CLI::App* const command = bench.add_subcommand("barrier", "The time of a barrier, beside those of MPI libraries");
    const auto words = std::make_shared<Words>();
    add_round_options(*command, *words, kDefaultRanks, "Batches in each round");
    add_count_option(*command, "--rounds", words->rounds, "Jobs that are started, one after the other");
    add_count_option(*command, "--batch", words->batch, "Barriers in a batch, whose mean is a sample");
    command->add_flag("--explain", words->explain, "Say which algorithm it is, and why");
    command->add_option("--peer", words->peers, "Run this MPI library in each round, and compare: openmpi, mpich, all; may be given again")
        ->type_name("NAMES")
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command->footer(R"(
run_time is the time of one barrier. rollcall_ratio, in the row of a peer, is the time of Rollcall over that of the
peer: the median of a round each. Peers yield while they poll, where ranks may share cores: Open MPI by its
mpi_yield_when_idle, MPICH by a small library that is loaded before it.)");
    command->callback([words, &exit_code] { exit_code = run(*words); });
}

}  // namespace rollcall::bench
