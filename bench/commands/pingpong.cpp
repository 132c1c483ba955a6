#include "bench/commands/pingpong.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <rollcall/rollcall.hpp>

#include "bench/cases/lists.hpp"
#include "bench/cases/payload.hpp"
#include "bench/peers/peer.hpp"
#include "bench/peers/ucx_perftest.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/ranks/rounds.hpp"
#include "foundation/settings.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace pingpong_command {
namespace {

constexpr int kRanks = 2;
constexpr std::uint64_t kDefaultIterations = 200, kDefaultRounds = 5;
/// The duration of a batch in nanoseconds. It is long enough for the resolution of the clock not to matter, and short enough that most
/// batches are not interrupted.
constexpr Nanoseconds kBatchTime = 1'000'000;
constexpr std::uint64_t kCalibrationTrips = 20, kLargestBatch = 100'000;
/// Limit for each size. On a busy machine a batch may take far longer than planned; there are then fewer batches.
constexpr Nanoseconds kLongestSize = 5'000'000'000;
constexpr Tag kTag = 3;
constexpr const char* kPeerProgram = "pingpong";

struct Words : RoundWords {
    Words() { iterations = kDefaultIterations, rounds = kDefaultRounds; }
    std::string bytes = "8";
    std::vector<std::string> peers;
    bool raw_ucx = false;
};

/// Returns the time of one direction, averaged over `trips` round trips, in seconds, at rank 0.
double round_trips(const Communicator& world, std::vector<std::byte>& data, std::uint64_t trips) {
    return seconds_of_direction(monotonic_now, trips, [&] {
        if (world.rank() == 0) {
            world.send(data.data(), data.size(), 1, kTag);
            world.receive(data.data(), data.size(), 1, kTag);
        } else {
            world.receive(data.data(), data.size(), 0, kTag);
            world.send(data.data(), data.size(), 0, kTag);
        }
    });
}

/// Tells both ranks what rank 0 decides.
bool go_on(const Communicator& world, bool decision) {
    if (world.rank() == 0)
        world.send(decision, 1, kTag);
    else
        decision = world.receive<bool>(0, kTag);
    return decision;
}

/// One round trip of data that belongs to the key. In between, rank 0 has other data.
void go_there_and_back(const Communicator& world, std::vector<std::byte>& data, std::uint64_t key) {
    const bool begins = world.rank() == 0;
    if (begins) {
        fill(data, key);
        world.send(data.data(), data.size(), 1, kTag);
    }
    poison(data, key);
    world.receive(data.data(), data.size(), begins ? 1 : 0, kTag);
    if (!begins) world.send(data.data(), data.size(), 0, kTag);
}

/// Measures inside the job. The data is checked in a separate round trip before the timed ones.
Samples measure_in(Job& job, const std::vector<std::uint64_t>& sizes, std::uint64_t iterations) {
    const Communicator& world = job.world();
    Samples samples;
    samples.transport = transport_name(job);
    for (const std::uint64_t bytes : sizes) {
        if (world.rank() < kRanks) {
            const std::uint64_t key = bench::key_of({bytes, 1});
            std::vector<std::byte> data(bytes);
            go_there_and_back(world, data, key);
            if (const auto wrong = find_wrong(data, key))
                job.abort(1, fmt::format("pingpong of {} bytes gave a wrong result: byte {} on rank {} is not what was sent", bytes, *wrong,
                                         world.rank()));
            const double trip = 2 * round_trips(world, data, kCalibrationTrips);
            std::uint64_t batch = 0;
            if (world.rank() == 0) {
                batch = static_cast<std::uint64_t>(
                    std::clamp(static_cast<double>(kBatchTime) * 1e-9 / trip, 1.0, static_cast<double>(kLargestBatch)));
                world.send(batch, 1, kTag);
            } else {
                batch = world.receive<std::uint64_t>(0, kTag);
            }
            round_trips(world, data, batch);
            const Nanoseconds until = monotonic_now() + kLongestSize;
            for (std::uint64_t i = 0; go_on(world, i < iterations && (i < kFewestSamples || monotonic_now() < until)); ++i)
                samples.values[std::to_string(bytes)].push_back(round_trips(world, data, batch));
        }
        world.barrier();
    }
    return samples;
}

CellIdentity identity(const std::string& competitor, const std::string& transport, std::uint64_t bytes) {
    return {.operation = "pingpong", .algorithm = competitor, .transport = transport, .ranks = kRanks, .bytes = bytes};
}

/// Runs the peer's program once, for all sizes.
void run_round(const Peer& peer, std::uint64_t iterations, const std::vector<std::uint64_t>& sizes, const EmulatedCluster* cluster,
               Timeout limit, std::map<std::uint64_t, Rounds>& into) {
    std::vector<std::string> program = {peer_program(peer, kPeerProgram), std::to_string(iterations), std::to_string(kFewestSamples),
                                        std::to_string(kBatchTime), std::to_string(kLongestSize)};
    for (const std::uint64_t bytes : sizes) program.push_back(std::to_string(bytes));
    PeerLines lines = run_peer(peer, kRanks, program, cluster, limit);
    require_lines(peer, lines, sizes.size(), iterations);
    for (std::size_t i = 0; i < sizes.size(); ++i) into[sizes[i]].push_back(std::move(lines[i]));
}

/// ucx_perftest measures UCX, so Rollcall must use it, too.
void refuse_other_than_ucx(const std::vector<TransportChoice>& transports) {
    const std::string set = Settings::from_environment().transport;
    for (const TransportChoice& choice : transports) {
        if (choice.name.starts_with("ofi"))
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--raw-ucx with --transport {}; allowed: default, shm, tcp, because it measures UCX", choice.name));
        if (choice.name == "default" && set != "ucx")
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--raw-ucx with ROLLCALL_TRANSPORT={}; allowed: ucx, because it measures UCX", set));
    }
}

int run(const Words& words) {
    const Start start = checked(words.start, kRanks, kRanks);
    if (!inside_job() && start.ranks != kRanks)
        throw Error(ErrorCode::invalid_argument, fmt::format("a ping-pong of {} ranks; allowed: 2, between which it goes", start.ranks));
    const auto sizes = parse_sizes(words.bytes, "--bytes");
    const std::vector<const Peer*> peers = parse_peers(words.peers);
    if (!peers.empty()) refuse_other_than_peers(parse_transports(words.transports), start.cluster != nullptr);
    for (const std::uint64_t bytes : sizes)
        if (!peers.empty() && bytes > std::numeric_limits<int>::max())
            throw Error(ErrorCode::invalid_argument,
                        "--peer with messages of 2 GiB or more, which MPI 3 does not count; allowed: smaller ones");
    if (words.raw_ucx) refuse_other_than_ucx(parse_transports(words.transports));
    if (words.raw_ucx && start.cluster) throw Error(ErrorCode::invalid_argument, "--raw-ucx with --cluster; allowed: on this host");
    if (words.raw_ucx && inside_job() && samples_path(words.inherited).empty())
        throw Error(ErrorCode::invalid_argument, "--raw-ucx in a job that is already running; allowed: outside of one");
    require_peers(peers, words.inherited, kPeerProgram);
    if (words.raw_ucx && !inside_job()) require_ucx_perftest();

    // Both over the present transport.
    std::map<std::uint64_t, Rounds> of_ucx;
    std::map<const Peer*, std::map<std::uint64_t, Rounds>> of_peers;
    const auto run_peers = [&](const TransportChoice& transport, const Samples& samples) {
        const Timeout limit = peer_limit(start, samples.took);
        for (const Peer* peer : peers) run_round(*peer, words.iterations, sizes, start.cluster.get(), limit, of_peers[peer]);
        if (!words.raw_ucx) return;
        auto environment = transport.environment;
        // Rollcall asks UCX for this if the user does not choose.
        if (environment.empty() && std::getenv("UCX_TLS") == nullptr) environment = {"UCX_TLS=^sysv"};
        for (const std::uint64_t bytes : sizes) {
            const double time = estimate(samples.values.at(std::to_string(bytes))).median;
            // As many as Rollcall's batches have, but no longer than a size takes with Rollcall at most: kUcxPerftestLimit must not end it.
            const double planned = std::min(static_cast<double>(words.iterations * kBatchTime), static_cast<double>(kLongestSize)) * 1e-9;
            const auto trips = static_cast<std::uint64_t>(std::clamp(planned / (2 * time), 20.0, 1e6));
            of_ucx[bytes].push_back({ucx_perftest(bytes, environment, trips)});
        }
    };
    const auto print = [&](CellPrinter& printer, const Variant&, const std::vector<Samples>& rounds) {
        const std::string& transport = rounds.front().transport;
        for (const std::uint64_t bytes : sizes) {
            std::vector<PeerRounds> others;
            if (words.raw_ucx) others.push_back({identity(kUcxPerftest, transport, bytes), of_ucx[bytes]});
            for (const Peer* peer : peers)
                others.push_back({identity(peer->name, peer_transport(start.cluster.get()), bytes), of_peers[peer][bytes]});
            add_beside_peers(printer, identity("rollcall", transport, bytes), rounds_of(rounds, std::to_string(bytes)), others);
        }
        of_ucx.clear();
        of_peers.clear();
    };
    return run_rounds(
        start, words,
        {.measure = [&](Job& job) { return measure_in(job, sizes, words.iterations); }, .after_job = run_peers, .print = print});
}

}  // namespace
}  // namespace pingpong_command

void add_pingpong_command(usage::Command& bench, int& exit_code) {
    using namespace pingpong_command;
    usage::Command* const command =
        bench.add_subcommand("pingpong", "Measure half a round trip between ranks 0 and 1, with blocking calls");
    const auto words = std::make_shared<Words>();
    add_round_options(*command, *words, kRanks, "Batches in each round");
    add_rounds_option(*command, *words);
    add_sizes_option(*command, "--bytes", words->bytes, "Sizes of the message");
    command->add_flag("--raw-ucx", words->raw_ucx,
                      "Also run `ucx_perftest -t ucp_am_lat` over the same transports in each round, and compare");
    add_peer_option(*command, words->peers);
    command->footer(R"(
run_time is half a round trip; a sample is the mean of a batch of about 1 ms. For ucx_perftest, run_time is
the smaller of the mean and the 50th percentile that it prints. rollcall_ratio, in the row of a peer, is
Rollcall's time divided by the peer's, from the medians of each round.)");
    command->callback([words, &exit_code] { exit_code = run(*words); });
}

}  // namespace rollcall::bench
