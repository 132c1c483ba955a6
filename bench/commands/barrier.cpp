#include "bench/commands/barrier.hpp"

#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <rollcall/rollcall.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/cases/intergroup_cases.hpp"
#include "bench/peers/peer.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/ranks/operands.hpp"
#include "bench/ranks/rounds.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace barrier_command {
namespace {

constexpr int kDefaultRanks = 8;
constexpr std::uint64_t kDefaultIterations = 10, kDefaultRounds = 5, kDefaultBatch = 500;
/// Limit of a measurement, in nanoseconds. On a busy machine a batch may take far longer than planned; there are then fewer batches.
constexpr Nanoseconds kLongest = 10'000'000'000;
constexpr const char* kKey = "barrier";

struct Words : RoundWords {
    Words() { iterations = kDefaultIterations, rounds = kDefaultRounds; }
    std::vector<std::string> peers;
    std::uint64_t batch = kDefaultBatch;
    bool explain = false, between = false;
    std::string groups;
    const char* operation() const { return between ? "intergroup_barrier" : kKey; }
};

struct Plan {
    std::vector<const Peer*> peers;
    std::vector<TransportChoice> transports;
    std::uint64_t iterations, batch;
    int in_first = 0;  ///< Between two groups: the number of ranks in the first one.

    /// The arguments of a peer's program.
    std::vector<std::string> peer_words(const Peer& peer) const {
        return {peer_program(peer, kKey), std::to_string(iterations), std::to_string(kFewestSamples),
                std::to_string(batch),    std::to_string(kLongest),   std::to_string(in_first)};
    }
};

Samples measure_in(Job& job, const Plan& plan) {
    const Communicator& world = job.world();
    Samples samples;
    samples.transport = transport_name(job);
    samples.explanation = world.explain("barrier");
    const Intercommunicator groups = plan.in_first > 0 ? divided(world, plan.in_first) : Intercommunicator();
    const auto pass = [&] { groups ? groups.barrier() : world.barrier(); };
    for (std::uint64_t i = 0; i <= plan.batch / 10; ++i) pass();
    const Nanoseconds until = monotonic_now() + kLongest;
    for (std::uint64_t iteration = 0; iteration < plan.iterations; ++iteration) {
        bool go_on = iteration < kFewestSamples || monotonic_now() < until;
        world.broadcast(go_on, 0);
        if (!go_on) break;
        world.barrier();
        samples.values[kKey].push_back(seconds_of_each(monotonic_now, plan.batch, pass));
    }
    return samples;
}

Plan plan_of(const Words& words, const Start& start) {
    Plan plan{.peers = {}, .transports = parse_transports(words.transports), .iterations = words.iterations, .batch = words.batch};
    plan.peers = parse_peers(words.peers);
    if (!plan.peers.empty()) refuse_other_than_peers(plan.transports, start.cluster != nullptr);
    if (words.between) plan.in_first = static_cast<int>(groups_of(words.groups, start.ranks).front());
    return plan;
}

int run(const Words& words) {
    const Start start = checked(words.start, kDefaultRanks, words.between ? 2 : 1);
    const Plan plan = plan_of(words, start);
    const auto identity = [&](const std::string& competitor, const std::string& transport) {
        return CellIdentity{.operation = words.operation(), .algorithm = competitor, .transport = transport, .ranks = start.ranks};
    };
    require_peers(plan.peers, words.inherited, kKey);

    std::vector<PeerRounds> theirs;  // of the present transport
    for (const Peer* peer : plan.peers) theirs.push_back({identity(peer->name, peer_transport(start.cluster.get())), {}});
    const auto run_peers = [&](const TransportChoice&, const Samples& ours) {
        for (std::size_t i = 0; i < theirs.size(); ++i) {
            const Peer& peer = *plan.peers[i];
            PeerLines lines = run_peer(peer, start.ranks, plan.peer_words(peer), start.cluster.get(), peer_limit(start, ours.took));
            require_lines(peer, lines, 1, plan.iterations);
            theirs[i].rounds.push_back(std::move(lines.front()));
        }
    };
    const auto print = [&](CellPrinter& printer, const Variant&, const std::vector<Samples>& rounds) {
        if (words.explain) explanations(words.format) << rounds.front().explanation << std::endl;
        std::vector<std::pair<std::string, std::string>> notes;
        if (words.between) notes.emplace_back("groups", fmt::format("{}+{}", plan.in_first, start.ranks - plan.in_first));
        add_beside_peers(printer, identity("rollcall", rounds.front().transport), rounds_of(rounds, kKey), theirs, notes);
        for (PeerRounds& peer : theirs) peer.rounds.clear();
    };
    return run_rounds(start, words, {.measure = [&](Job& job) { return measure_in(job, plan); }, .after_job = run_peers, .print = print});
}

void add_command(usage::Command& bench, bool between, int& exit_code) {
    const auto words = std::make_shared<Words>();
    words->between = between;
    usage::Command* const command = bench.add_subcommand(
        words->operation(), fmt::format("Measure a barrier{}, also beside MPI libraries", between ? " between two groups" : ""));
    add_round_options(*command, *words, kDefaultRanks, "Batches in each round");
    add_rounds_option(*command, *words);
    add_count_option(*command, "--batch", words->batch, "Barriers in a batch; a sample is their mean");
    if (!between) command->add_flag("--explain", words->explain, "Say which algorithm runs, and why");
    if (between)
        command->add_option("--groups", words->groups, "The sizes of the two groups (default: half of the ranks each)")->type_name("P,Q");
    add_peer_option(*command, words->peers);
    command->footer(R"(
run_time is the time of one barrier. rollcall_ratio, in the row of a peer, is Rollcall's time divided by the peer's,
from the medians of each round. If ranks share cores, peers yield while they poll: Open MPI by its mpi_yield_when_idle,
MPICH by a small library that is loaded before it. With --cluster, peers run on the same hosts.)");
    command->callback([words, &exit_code] { exit_code = run(*words); });
}

}  // namespace
}  // namespace barrier_command

void add_barrier_commands(usage::Command& bench, int& exit_code) {
    for (const bool between : {false, true}) barrier_command::add_command(bench, between, exit_code);
}

}  // namespace rollcall::bench
