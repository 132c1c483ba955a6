// Callers that could hand their data over, and stay where a copy would take longer (runtime/engine/deputies_handing_over.cpp).
#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/decoupled.hpp"

namespace rollcall::model_test::decoupled {
namespace {

using runtime::Transfer;

Simulation::Options network(int ranks, double beta, double gamma, bool decoupled = true) {
    auto options = machine(ranks, gamma, decoupled);
    options.model.beta = beta;
    return options;
}

// When the rank that only contributes has left the first call, all ranks having come at 0.
Nanoseconds exit_of(int rank, const Simulation::Options& options, const AlgorithmEntry& entry, std::uint64_t bytes) {
    return run(options, entry, 0, bytes, 0, Times(static_cast<std::size_t>(options.ranks), 0)).exits[static_cast<std::size_t>(rank)];
}

// The root sends its data once, ceil(log2 n) times, or to each rank. It takes the shorter of the two ways.
TEST(Staying, TheRootTakesTheShorterOfItsTwoWays) {
    Random random(83);
    int stayed = 0, left = 0;
    for (int repetition = 0; repetition < repetitions(300); ++repetition) {
        const int n = static_cast<int>(random.between(2, 20));
        const std::uint64_t bytes = random.between(10'000, 40'000);
        const double beta = 1.0 / static_cast<double>(random.between(1, 50)), gamma = 1.0 / static_cast<double>(random.between(1, 10));
        for (const auto& [operation, name] : {std::pair(OperationKind::broadcast, "linear"),
                                              {OperationKind::broadcast, "binomial"},
                                              {OperationKind::broadcast, "pipelined"},
                                              {OperationKind::scatter, "linear"}}) {
            const AlgorithmEntry& entry = collectives::find_algorithm(operation, name);
            const bool scatters = operation == OperationKind::scatter;
            SCOPED_TRACE(
                fmt::format("{} {} n={} bytes={} beta={} gamma={}", scatters ? "scatter" : "broadcast", name, n, bytes, beta, gamma));
            const Nanoseconds copy = copy_time(gamma, scatters ? bytes * static_cast<std::uint64_t>(n) : bytes);
            const Nanoseconds own_block = scatters ? copy_time(gamma, bytes) : 0;
            const Nanoseconds stay = exit_of(0, network(n, beta, gamma, false), entry, bytes);
            const Nanoseconds exit = exit_of(0, network(n, beta, gamma), entry, bytes);
            (exit == stay && exit < copy ? stayed : left) += 1;
            // Where the two ways hardly differ, either is right: an estimate has the latency of the first message only.
            const Nanoseconds slack = 20 * n + own_block;
            EXPECT_LE(exit, std::min(copy, stay) + slack) << "copy " << copy << " stay " << stay;
            if (HasFailure()) return;
        }
    }
    EXPECT_GT(stayed, 0);
    EXPECT_GT(left, 0);
}

// On a fast network the first of many ranks would have left soon, and the last one would wait for all others: the decision is for the mean.
TEST(Staying, ManyContributorsLeaveWhereFewStay) {
    const AlgorithmEntry& linear = collectives::find_algorithm(OperationKind::gather, "linear");
    constexpr double kBeta = 0.125, kGamma = 0.5;
    constexpr std::uint64_t kBytes = 20'000;
    const Nanoseconds copy = copy_time(kGamma, kBytes);
    for (const int rank : {1, 2}) EXPECT_LT(exit_of(rank, network(3, kBeta, kGamma), linear, kBytes), copy - 1) << rank;
    for (const int rank : {1, 10, 19}) {
        const Nanoseconds exit = exit_of(rank, network(20, kBeta, kGamma), linear, kBytes);
        EXPECT_TRUE(exit == copy || exit == copy - 1) << rank << " leaves after a copy: " << exit;
    }
    EXPECT_GT(exit_of(19, network(20, kBeta, kGamma, false), linear, kBytes), 2 * copy) << "if it stayed";
}

// A rank that combines what others bring waits for them, so it leaves whatever the network can do.
TEST(Staying, WhoWaitsForOtherRanksLeaves) {
    const AlgorithmEntry& binomial = collectives::find_algorithm(OperationKind::reduce, "binomial");
    constexpr std::uint64_t kBytes = 20'000;
    constexpr double kGamma = 0.5;
    const Nanoseconds copy = copy_time(kGamma, kBytes);
    Times arrivals = {0, 0, 0, 1'000'000};  // rank 3 sends to rank 2, and rank 2 to the root
    const auto outcome = run(network(4, 0.01, kGamma), binomial, 0, kBytes, 0, arrivals);
    EXPECT_LT(outcome.exits[1], copy / 2) << "a leaf stays: the network is fast";
    EXPECT_LE(outcome.exits[2], copy) << "it does not wait for rank 3";
    EXPECT_GE(outcome.exits[2], copy - 2) << "it has copied";
}

// A receiver that is late, and has no room for early data, makes its sender wait. After such a call senders leave for a while. Then one
// stays again: if it need not wait long, the next ones stay, too.
TEST(Staying, RecentWaitsCount) {
    constexpr std::uint64_t kBytes = 100'000;
    constexpr Nanoseconds kLate = 1'000'000;
    auto options = network(2, 0.1, 0.5);
    options.landing_bytes = 6 * kBytes;
    Simulation simulation(options);
    const AlgorithmEntry& entry = broadcast("pipelined");
    const Nanoseconds copy = copy_time(0.5, kBytes);
    const auto root_in = [&](Nanoseconds late) {
        return simulation
            .run(
                [&](int rank) {
                    Simulation::RankCall call;
                    call.call = collectives::make_call(entry, 0, kBytes, 0);
                    call.algorithm = entry.algorithm;
                    call.arguments = collectives::arguments_of(collectives::operation(entry.operation), {}, kBytes, 2, rank == 0);
                    return call;
                },
                Times{0, late})
            .exits[0];
    };
    EXPECT_LT(root_in(0), copy / 2) << "it stays";
    EXPECT_LT(root_in(kLate), copy / 2) << "its data lands";

    std::vector<std::byte> data(simulation.engine(1).landing().budget() - kBytes / 2), into(data.size());
    Transfer filling(Transfer::Direction::send, 1, simulation.world(0).group->id, 9, {data.data(), data.size()});
    simulation.engine(0).begin(filling);
    simulation.network().run();
    ASSERT_EQ(simulation.engine(1).landing().used(), data.size()) << "there is no room for the next call";
    EXPECT_GE(root_in(kLate), kLate) << "it stays, and waits";
    EXPECT_LE(root_in(kLate), copy) << "it leaves";

    Transfer emptying(Transfer::Direction::receive, 0, simulation.world(1).group->id, 9, {into.data(), into.size()});
    simulation.engine(1).begin(emptying);
    simulation.network().run();
    ASSERT_TRUE(emptying.done());
    int left = 1;
    while (root_in(0) >= copy / 2) ASSERT_LT(++left, 200);
    EXPECT_GT(left, 10) << "it forgets slowly";
    EXPECT_LT(root_in(0), copy / 2) << "it stays from now on";
    EXPECT_LT(root_in(0), copy / 2);
}

}  // namespace
}  // namespace rollcall::model_test::decoupled
