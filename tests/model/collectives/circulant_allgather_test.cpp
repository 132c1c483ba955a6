// The circulant allgather on the simulated network: the broadcasts of all ranks at once.
#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "foundation/costs.hpp"
#include "tests/model/blocks.hpp"
#include "tests/model/decoupled.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::model_test::decoupled {
namespace {

const AlgorithmEntry& circulant_allgather() { return collectives::find_algorithm(OperationKind::allgather, "circulant"); }
Nanoseconds last(const Simulation::Outcome& outcome) { return *std::max_element(outcome.exits.begin(), outcome.exits.end()); }
int circulant_rounds(int p, std::uint64_t n) { return static_cast<int>(n) - 1 + std::bit_width(static_cast<unsigned>(p - 1)); }

/// One call of blocks of these sizes, all ranks at once, without data.
Simulation::Outcome run_sizes(const Simulation::Options& options, std::string_view name, const std::vector<std::uint64_t>& sizes,
                              std::uint64_t segment) {
    const AlgorithmEntry& entry = collectives::find_algorithm(OperationKind::allgather, name);
    std::vector<runtime::Block> blocks;
    runtime::SumOfSizes counted;
    std::uint64_t all = 0;
    for (const std::uint64_t size : sizes) {
        counted.add(static_cast<int>(blocks.size()), size);
        blocks.push_back({all, size});
        all += size;
    }
    Simulation simulation(options);
    return simulation.run(
        [&](int rank) {
            Simulation::RankCall call{collectives::make_call(entry, -1, counted.sum(), segment), entry.algorithm, {}};
            call.call.own_sizes = true;
            call.arguments.data = {nullptr, all};
            call.arguments.contribution = {nullptr, sizes[static_cast<std::size_t>(rank)]};
            call.arguments.blocks = blocks.data();
            call.arguments.segment_bytes = segment;
            return call;
        },
        Times(sizes.size()));
}

TEST(CirculantAllgather, TheWorkedExample) {
    auto options = machine(5, 0, false);
    options.model.alpha = 0;
    EXPECT_EQ(run(options, circulant_allgather(), -1, 10, 0, Times(5)).exits, Times(5, 40));
    EXPECT_EQ(last(run_sizes(options, "circulant", {30, 0, 0, 0, 0}, 10)), 50);
    EXPECT_EQ(last(run_sizes(options, "circulant", {30, 0, 0, 0, 0}, 30)), 90);
}

// Blocks of one size: n - 1 + ceil(log2 p) messages of each rank, and no byte twice.
TEST(CirculantAllgather, TakesTheLeastNumberOfRounds) {
    Random random(79);
    for (int p = 2; p < 140; p += p < 40 ? 1 : 17)
        for (const std::uint64_t n : {1, 2, 7, 20}) {
            auto options = machine(p, 0, false);
            if (random.chance(0.5)) options.landing_bytes = 0;
            SCOPED_TRACE(fmt::format("p={} n={} landing={}", p, n, options.landing_bytes));
            const auto ranks = static_cast<std::size_t>(p);
            const auto outcome = run(options, circulant_allgather(), -1, n * 1000, 1000, Times(ranks));
            const int rounds = circulant_rounds(p, n);
            ASSERT_EQ(outcome.exits, Times(ranks, 20 * rounds + (p - 1) * static_cast<Nanoseconds>(n) * 1000));
            ASSERT_EQ(outcome.messages, static_cast<std::uint64_t>(p * rounds));
            ASSERT_EQ(run(options, circulant_allgather(), -1, n * 1000, 0, Times(ranks)).messages,
                      static_cast<std::uint64_t>(p * circulant_rounds(p, 1)));
        }
}

// Blocks of any sizes: no round is longer than a message with one piece of each block. If one rank has everything, it is the broadcast.
TEST(CirculantAllgather, BlocksOfDifferentSizesTakeTheSameRounds) {
    Random random(80);
    for (int p = 2; p <= 40; ++p)
        for (const std::uint64_t n : {1, 2, 7, 20}) {
            const auto ranks = static_cast<std::size_t>(p);
            const int rounds = circulant_rounds(p, n);
            SCOPED_TRACE(fmt::format("p={} n={}", p, n));
            std::vector<std::uint64_t> sizes(ranks);
            sizes[random.below(ranks)] = n * 1000;
            ASSERT_EQ(last(run_sizes(machine(p, 0, false), "circulant", sizes, 1000)), rounds * 1020);
            for (std::uint64_t& size : sizes)
                if (size == 0) size = random.below(n * 1000);
            std::uint64_t longest = 0;
            for (const std::uint64_t size : sizes) longest += (size + n - 1) / n;
            ASSERT_LE(last(run_sizes(machine(p, 0, false), "circulant", sizes, 1000)), rounds * static_cast<Nanoseconds>(20 + longest));
        }
}

// Without a size it cuts blocks into about as many pieces as is best, and it cuts equal ones nowhere.
TEST(CirculantAllgather, ChoosesThePieces) {
    for (const int p : {3, 5, 16, 33}) {
        auto options = machine(p, 0, false);
        options.model.alpha = kBuiltInCosts.network_latency;
        options.model.beta = static_cast<double>(kBuiltInCosts.network_mebibyte) / (1 << 20);
        std::vector<std::uint64_t> sizes(static_cast<std::size_t>(p), 4096);
        EXPECT_EQ(run_sizes(options, "circulant", sizes, 0).messages, static_cast<std::uint64_t>(p * circulant_rounds(p, 1)));
        sizes[1] = 8 << 20;
        Nanoseconds best = kHour;
        for (std::uint64_t segment = 8 << 10; segment <= 8 << 20; segment *= 2)
            best = std::min(best, last(run_sizes(options, "circulant", sizes, segment)));
        const Nanoseconds chosen = last(run_sizes(options, "circulant", sizes, 0));
        EXPECT_LE(static_cast<double>(chosen), 1.05 * static_cast<double>(best)) << p;
        EXPECT_LE(static_cast<double>(chosen), 0.9 * static_cast<double>(last(run_sizes(options, "ring", sizes, 0)))) << p;
        EXPECT_LE(static_cast<double>(chosen), 0.7 * static_cast<double>(last(run_sizes(options, "bruck", sizes, 0)))) << p;
    }
}

TEST(CirculantAllgather, EveryNumberOfRanks) {
    Random random(87);
    for (int n = 1; n <= 40; ++n) {
        std::vector<Step> steps;
        for (int number = 0; number < repetitions(6); ++number) {
            Step step{.entry = &circulant_allgather(), .bytes = random.below(400), .delays = {}, .plans = {}};
            step.segment = random.pick(std::vector<std::uint64_t>{0, 1, 40, 100, 1000});
            step.delays = random_delays(random, n, 0, random.pick(std::vector<Nanoseconds>{0, 1000, 100'000}));
            step.in_place = random.chance(0.3);
            steps.push_back(step);
        }
        expect_right_results(random_machine(random, n, 400), steps);
        if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace rollcall::model_test::decoupled
