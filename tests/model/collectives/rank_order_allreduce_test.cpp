// The allreduce of long elements that keeps rank order (`pairwise`): its worked example, its results, and when it pays.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/selection.hpp"
#include "tests/model/reduced.hpp"

namespace rollcall::model_test {
namespace {

TEST(RankOrderAllreduce, ItsExampleEndsAsItSays) {
    EXPECT_EQ(exits_of(OperationKind::allreduce, "pairwise", 3, 0, 30, 0, Times(3)), Times(3, 40));
}

// Each rank sends and receives 2 (n - 1) / n of the elements. A byte takes 1 ns.
TEST(RankOrderAllreduce, EachRankSendsTheElementsTwice) {
    for (const int n : {2, 5, 8, 16}) {
        const auto made =
            example(OperationKind::allreduce, "pairwise", n, 0, 100 * static_cast<std::uint64_t>(n), 0, Times(static_cast<std::size_t>(n)));
        EXPECT_EQ(made.exits, Times(static_cast<std::size_t>(n), 200 * (n - 1))) << n;
        EXPECT_EQ(made.messages, static_cast<std::uint64_t>(2 * n * (n - 1))) << n;
    }
}

/// x -> a x + b. Of two such functions, the left one comes first.
struct Line {
    std::uint32_t a, b, ranks;
    bool operator==(const Line&) const = default;
};
constexpr auto kThen = [](const Line& x, const Line& y) noexcept { return Line{x.a * y.a, x.b * y.a + y.b, x.ranks + y.ranks}; };

TEST(RankOrderAllreduce, CombinesInRankOrderAnyNumberOfElements) {
    const AlgorithmEntry& pairwise = collectives::find_algorithm(OperationKind::allreduce, "pairwise");
    Random random(91);
    for (int n = 1; n <= 17; ++n)
        for (const std::size_t count : {0, 1, 3, 16, 17, 18, 101})
            for (const bool in_place : {false, true}) {
                SCOPED_TRACE(fmt::format("{} ranks, {} elements{}", n, count, in_place ? ", in place" : ""));
                std::vector<std::vector<Line>> operands(static_cast<std::size_t>(n), std::vector<Line>(count));
                for (auto& operand : operands)
                    for (Line& element : operand)
                        element = {static_cast<std::uint32_t>(random.below(1000)), static_cast<std::uint32_t>(random.below(1000)), 1};
                std::vector<Line> expected = operands[0];
                for (std::size_t rank = 1; rank < operands.size(); ++rank)
                    std::transform(expected.begin(), expected.end(), operands[rank].begin(), expected.begin(), kThen);
                Simulation::Options options;
                options.ranks = n;
                const Reduced<Line> made(options, pairwise, 0, reduction_of<Line>(kThen), operands, 0, in_place,
                                         random_delays(random, n, 0, 20'000));
                for (const auto& result : made.results) ASSERT_EQ(result, expected);
            }
}

// On a network whose costs are known exactly, `auto` is near the best algorithm that keeps rank order.
TEST(RankOrderAllreduce, IsChosenWhereItPays) {
    const Costs costs{.network_latency = 2'000, .network_gap = 2'000, .network_mebibyte = 838'861};
    int chosen = 0;
    for (const int ranks : {3, 5, 16, 48, 64})
        for (const std::uint64_t bytes : {8, 16 << 10, 64 << 10, 1 << 20, 8 << 20}) {
            if (kSanitized && ranks > 16) continue;
            const auto has = collectives::kUsual.without(collectives::Condition::commutative);
            const auto taken =
                collectives::select(OperationKind::allreduce, {.bytes = bytes, .ranks = ranks, .has = has, .costs = &costs}).entry;
            Simulation::Options options;
            options.ranks = ranks;
            options.node_memory = false;
            options.model.alpha = 2'000;
            options.model.beta = 0.8;
            const auto time_of = [&](const AlgorithmEntry& entry) {
                Simulation simulation(options);
                const auto outcome = simulation.run(
                    [&](int rank) {
                        Simulation::RankCall call{collectives::make_call(entry, -1, bytes, 0), entry.algorithm, {}};
                        call.arguments =
                            collectives::arguments_of(collectives::operation(OperationKind::allreduce), {}, bytes, ranks, rank == 0);
                        return call;
                    },
                    Times(static_cast<std::size_t>(ranks)));
                return static_cast<double>(*std::max_element(outcome.exits.begin(), outcome.exits.end()));
            };
            const double its = time_of(*taken);
            for (const char* const other : {"recursive_doubling", "reduce_then_broadcast", "pairwise"})
                EXPECT_LE(its, 1.2 * time_of(collectives::find_algorithm(OperationKind::allreduce, other)))
                    << ranks << " ranks, " << bytes << " bytes: " << taken->name << " and not " << other;
            if (taken->name == "pairwise") ++chosen;
        }
    EXPECT_GE(chosen, kSanitized ? 4 : 9);
}

}  // namespace
}  // namespace rollcall::model_test
