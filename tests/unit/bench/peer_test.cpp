// Calls of MPI libraries: the plan that their program reads, and what its numbers mean.
#include <gtest/gtest.h>

#include <algorithm>
#include <rollcall/error.hpp>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/peers/peer_calls.hpp"
#include "bench/ranks/start.hpp"
#include "launcher/hosts/binding.hpp"
#include "runtime/topology/binding.hpp"
#include "support/usage.hpp"
#include "tests/unit/bench/bench.hpp"

namespace rollcall::bench {
namespace {

constexpr int kPeerRanks = 2;

RawCell peer_cell(std::string algorithm, std::uint64_t bytes, std::string pattern, std::vector<Nanoseconds> late) {
    RawCell cell;
    cell.identity = {"gather", std::move(algorithm), "ucx", kPeerRanks, bytes, std::move(pattern), late.size()};
    cell.setup = {.root = 1, .message_time = 700};
    for (std::uint64_t i = 0; i < late.size(); ++i) {
        cell.samples.emplace_back();
        cell.samples.back().iteration = 10 + i;
        cell.samples.back().asked = {0, late[i]};
        cell.samples.back().arrivals = {0, late[i]};
        cell.samples.back().exits = {1, late[i] + 1};
        cell.samples.back().first_data = {kNoTime, 5};
    }
    return cell;
}

std::vector<RawCell> peer_example() {
    return {peer_cell("linear", 80, "balanced", {0, 0, 0}),       peer_cell("binomial", 80, "balanced", {0, 0, 0}),
            peer_cell("linear", 80, "last:1:5ns", {5, 6, 7}),     peer_cell("binomial", 80, "last:1:5ns", {5, 6, 7}),
            peer_cell("linear", 4000, "balanced", {0, 0, 0}),     peer_cell("linear", 4000, "last:1:5ns", {8, 9, 10}),
            peer_cell("binomial", 4000, "last:1:5ns", {8, 9, 10})};
}

/// The lines of a plan, as numbers.
std::vector<std::vector<std::uint64_t>> lines_of_plan(const std::string& plan) {
    std::vector<std::vector<std::uint64_t>> lines;
    std::istringstream in(plan.substr(plan.find('\n') + 1));
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        lines.emplace_back();
        for (std::uint64_t number = 0; words >> number;) lines.back().push_back(number);
    }
    return lines;
}

TEST(BenchPeer, ThePlanHasTheDelaysOfEverySizeAndPatternOnce) {
    const PeerCalls calls(peer_example(), {.wait = Compute::sleep, .warmup = 2, .seed = 4});
    const std::string plan = calls.plan();
    EXPECT_EQ(plan.substr(0, plan.find('\n')), "gather 1 1 0 16");
    const auto lines = lines_of_plan(plan);
    ASSERT_EQ(lines.size(), 16u);
    EXPECT_EQ(calls.count(), 16u * 2 * kPeerRanks);
    std::set<std::uint64_t> keys;
    std::multiset<std::uint64_t> delays[2];
    for (std::size_t i = 0; i < lines.size(); ++i) {
        ASSERT_EQ(lines[i].size(), 2u + kPeerRanks);
        EXPECT_EQ(lines[i][0], i < 8 ? 40u : 2000u) << "the size of a block";
        keys.insert(lines[i][1]);
        EXPECT_EQ(lines[i][2], 0u);
        delays[i / 8].insert(lines[i][3]);
    }
    EXPECT_EQ(keys.size(), 16u) << "each call has data of its own";
    EXPECT_EQ(delays[0], (std::multiset<std::uint64_t>{0, 0, 0, 0, 0, 5, 6, 7}));
    EXPECT_EQ(delays[1], (std::multiset<std::uint64_t>{0, 0, 0, 0, 0, 8, 9, 10}));
    for (const std::size_t i : {0, 1, 8, 9}) EXPECT_EQ(lines[i][3], 0u) << "warm-up comes first";
    // Both patterns have had their turn before one has the next.
    for (std::size_t i = 2; i < 8; i += 2) EXPECT_NE(lines[i][3] == 0, lines[i + 1][3] == 0);
}

TEST(BenchPeer, ThePlanHasTheSizesOfBlocks) {
    const PeerCalls calls(peer_example(), {.wait = Compute::sleep, .warmup = 0, .seed = 4, .distribution = SizeDistribution::increasing});
    const std::string plan = calls.plan();
    EXPECT_EQ(plan.substr(0, plan.find('\n')), "gatherv 1 1 0 12");
    for (const auto& line : lines_of_plan(plan)) {
        ASSERT_EQ(line.size(), 2u + 2 * kPeerRanks);
        const bool is_short = line[0] == 40;
        EXPECT_EQ(line[2 + kPeerRanks], is_short ? 41u : 2001u) << "2b/n + 1, with b = bytes / n";
        EXPECT_EQ(line[3 + kPeerRanks], is_short ? 81u : 4001u);
    }
}

TEST(BenchPeer, ThePlanBetweenGroupsHasTheFirstGroupAndTheSizesOfBlocks) {
    std::vector<RawCell> example = peer_example();
    for (RawCell& cell : example) cell.identity.operation = "intergroup_gather";
    const std::string plan = PeerCalls(example, {.wait = Compute::sleep, .warmup = 0, .seed = 4, .in_first = 1}).plan();
    EXPECT_EQ(plan.substr(0, plan.find('\n')), "intergroup_gather 1 1 0 12 1");
    for (const auto& line : lines_of_plan(plan)) EXPECT_TRUE(line[0] == 80 || line[0] == 4000) << "the sweep has the sizes of blocks";

    const PeerSetup own_sizes{.wait = Compute::sleep, .warmup = 0, .seed = 4, .distribution = SizeDistribution::increasing, .in_first = 1};
    const std::string of_own_sizes = PeerCalls(example, own_sizes).plan();
    EXPECT_EQ(of_own_sizes.substr(0, of_own_sizes.find('\n')), "intergroup_gatherv 1 1 0 12 1");
    for (const auto& line : lines_of_plan(of_own_sizes)) {
        ASSERT_EQ(line.size(), 2u + 2 * kPeerRanks);
        const bool is_short = line[0] == 80;
        EXPECT_EQ(line[2 + kPeerRanks], is_short ? 81u : 4001u) << "2b/n + 1";
        EXPECT_EQ(line[3 + kPeerRanks], is_short ? 161u : 8001u);
    }
}

TEST(BenchPeer, NumbersGoToTheirCalls) {
    const PeerCalls calls(peer_example(), {.wait = Compute::spin, .warmup = 1, .seed = 4});
    EXPECT_EQ(calls.plan().substr(0, 14), "gather 1 0 0 1");
    // Each rank arrives when the plan says, and leaves 1000 ns later.
    std::vector<double> times;
    for (const auto& line : lines_of_plan(calls.plan()))
        for (std::size_t rank = 0; rank < kPeerRanks; ++rank)
            for (const int later : {0, 1000}) times.push_back(static_cast<double>(line[2 + rank]) + later);
    ASSERT_EQ(times.size(), calls.count());
    const std::vector<RawCell> cells = calls.cells("openmpi", "its own choice", times);
    ASSERT_EQ(cells.size(), 4u);
    for (const RawCell& cell : cells) {
        EXPECT_EQ(cell.identity.algorithm, "openmpi");
        EXPECT_EQ(cell.identity.transport, "its own choice");
        EXPECT_EQ(cell.setup, (CallSetup{1, 700, Model::eager}));
        ASSERT_EQ(cell.samples.size(), 3u);
        for (const CallSample& sample : cell.samples) {
            EXPECT_EQ(sample.arrivals, sample.asked);
            EXPECT_EQ(sample.exits, (std::vector<Nanoseconds>{1000, sample.asked[1] + 1000}));
            EXPECT_TRUE(sample.first_data.empty()) << "the peer does not tell";
        }
    }
    EXPECT_EQ(cells[3].samples[2].asked[1], 10);
    EXPECT_EQ(cells[3].samples[2].iteration, 12u);
}

TEST(BenchPeer, EachRankWaitsForItsPhaseFirst) {
    const PeerCalls calls(peer_example(), {.wait = Compute::sleep, .warmup = 1, .seed = 4, .compute = 1'000'000});
    const auto lines = lines_of_plan(calls.plan());
    std::vector<double> times;
    for (const auto& line : lines)
        for (std::size_t rank = 0; rank < kPeerRanks; ++rank) {
            EXPECT_GE(line[2 + rank], 1'000'000u);
            EXPECT_LE(line[2 + rank], 1'000'010u);
            for (const int later : {0, 1000}) times.push_back(static_cast<double>(line[2 + rank]) + later);
        }
    for (const RawCell& cell : calls.cells("openmpi", "its own choice", times))
        for (const CallSample& sample : cell.samples) {
            EXPECT_EQ(sample.start, 1'000'000) << "delays count from there";
            for (std::size_t rank = 0; rank < kPeerRanks; ++rank) EXPECT_EQ(sample.arrivals[rank] - sample.start, sample.asked[rank]);
        }
}

TEST(BenchPeer, RoundsAreAppendedAndCellsGrouped) {
    std::vector<RawCell> all, first = peer_example(), second = peer_example();
    append(all, first);
    append(all, {peer_cell("openmpi", 80, "balanced", {0})});
    second[0].setup.message_time = 800;
    append(all, second);
    append(all, {peer_cell("openmpi", 80, "balanced", {0})});
    ASSERT_EQ(all.size(), 8u);
    EXPECT_EQ(all[0].identity.iterations, 6u);
    EXPECT_EQ(all[0].samples.size(), 6u);
    for (std::size_t i = 0; i < 6; ++i)
        EXPECT_EQ(message_time_of(all[0].samples[i], all[0].setup), i < 3 ? 700 : 800) << "T of the job of each call";
    EXPECT_EQ(all[7].samples.size(), 2u);
    std::string order;
    for (const RawCell& cell : grouped(all)) order += cell.identity.algorithm.substr(0, 1) + std::to_string(cell.identity.bytes) + " ";
    EXPECT_EQ(order, "l80 b80 o80 l80 b80 l4000 l4000 b4000 ");
}

TEST(BenchPeer, PeersYieldWhereRanksShareCpus) {
    const Peer peer{"some", {"start"}, {"--yield"}, "", "some-package"};
    EXPECT_EQ(peer_command(peer, 1, {"program", "plan"}, nullptr), (std::vector<std::string>{"start", "-n", "1", "program", "plan"}));
    EXPECT_TRUE(share_cpus(1 << 20));
    EXPECT_EQ(peer_command(peer, 1 << 20, {"program"}, nullptr),
              (std::vector<std::string>{"start", "--yield", "-n", "1048576", "program"}));
}

// hydra binds nothing by default; Rollcall's ranks have the same cores.
TEST(BenchPeer, IsBoundToTheCoresOfRollcallsRanks) {
    const Peer peer{"some", {"start"}, {}, "", "some-package", true};
    std::vector<std::string> expected = {"start"};
    const auto bound =
        launcher::bind_ranks(launcher::load_cores(runtime::cpus_of()), 2, launcher::MapBy::slot, launcher::BindTo::automatic);
    if (!bound.at(0).empty())
        expected.insert(expected.end(), {"-bind-to", fmt::format("user:{},{}", fmt::join(bound[0], "+"), fmt::join(bound[1], "+"))});
    expected.insert(expected.end(), {"-n", "2", "program"});
    if (!share_cpus(2)) {
        EXPECT_EQ(peer_command(peer, 2, {"program"}, nullptr), expected);
    }
    EXPECT_EQ(peer_command(peer, 1, {"program"}, nullptr), (std::vector<std::string>{"start", "-n", "1", "program"}));
    EXPECT_EQ(peer_command(peer, 1 << 20, {"program"}, nullptr), (std::vector<std::string>{"start", "-n", "1048576", "program"}));
}

TEST(BenchPeer, TheLimitFollowsTheJobBefore) {
    const Nanoseconds ours = 500 * kSecond;
    EXPECT_GT(peer_limit({.ranks = 2}, ours), std::chrono::seconds(1000)) << "a peer may be slower";
    EXPECT_GE(peer_limit({.ranks = 2}, 0), std::chrono::seconds(60)) << "it needs time to start";
    EXPECT_EQ(peer_limit({.ranks = 2, .timeout = std::chrono::seconds(7)}, ours), std::chrono::seconds(7));
}

/// A peer whose launcher prints this.
Peer printing(const std::string& text) { return {"some", {"sh", "-c", "printf '" + text + "'"}, {}, "", "some-package"}; }

TEST(BenchPeer, AProgramMayPrintFewerSamples) {
    const auto lines = [](const std::string& text) { return run_peer(printing(text), 1, {"program"}, nullptr, std::chrono::seconds(60)); };
    const PeerLines some = lines("1 2 3 \\n4e-3 5\\n");
    EXPECT_EQ(some, (PeerLines{{1, 2, 3}, {4e-3, 5}}));
    EXPECT_NO_THROW(require_lines(printing(""), some, 2, 3));
    EXPECT_NO_THROW(require_lines(printing(""), some, 2, 200));
    EXPECT_THROW(require_lines(printing(""), some, 2, 2), Error) << "more than were asked for";
    EXPECT_THROW(require_lines(printing(""), some, 3, 3), Error);
    EXPECT_THROW(require_lines(printing(""), lines("1 2\\n\\n"), 2, 3), Error) << "a line without a sample";
}

TEST(BenchPeer, APeerThatHangsIsNamedWithItsLimit) {
    const Peer hanging{"some", {"sh", "-c", "exec sleep 60"}, {}, "", "some-package"};
    try {
        run_peer(hanging, 1, {"program"}, nullptr, std::chrono::milliseconds(1));
        ADD_FAILURE() << "it cannot have ended";
    } catch (const usage::EarlyEnd& error) {
        EXPECT_TRUE(mentions(error.what(), "the peer some did not end within 1")) << error.what();
        EXPECT_TRUE(std::string_view(error.what()).ends_with("; --timeout sets another limit"))
            << "it has printed nothing: " << error.what();
        EXPECT_EQ(error.exit_code(), 124) << "as a job of Rollcall that takes too long";
    }
}

TEST(BenchPeer, NamesOfPeers) {
    const auto names = [](const std::vector<std::string>& words) {
        std::string all;
        for (const Peer* peer : parse_peers(words)) all += peer->name + " ";
        return all;
    };
    EXPECT_EQ(names({}), "");
    EXPECT_EQ(names({"mpich,openmpi", "mpich"}), "mpich openmpi ");
    EXPECT_EQ(names({"all"}), "openmpi mpich ");
    EXPECT_THROW(parse_peers({"gasnet"}), Error);
}

}  // namespace
}  // namespace rollcall::bench
