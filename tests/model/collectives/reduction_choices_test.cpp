// What `auto` takes for reductions, beside all other algorithms for any call, on the network of the simulator.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/selection.hpp"
#include "tests/model/reduced.hpp"

namespace rollcall::model_test {
namespace {

/// The run time of a call whose ranks arrive together, without data.
Nanoseconds time_of(const AlgorithmEntry& entry, const Simulation::Options& options, std::uint64_t bytes) {
    Simulation simulation(options);
    const auto outcome = simulation.run(
        [&](int rank) {
            Simulation::RankCall call{collectives::make_call(entry, -1, bytes, 0), entry.algorithm, {}};
            call.arguments = collectives::arguments_of(collectives::operation(entry.operation), {}, bytes, options.ranks, rank == 0);
            return call;
        },
        Times(static_cast<std::size_t>(options.ranks)));
    return *std::max_element(outcome.exits.begin(), outcome.exits.end());
}

TEST(ReductionChoices, AreNearTheBest) {
    // 2 us for a message, 0.8 ns for a byte.
    const Costs costs{.network_latency = 2'000, .network_gap = 2'000, .network_mebibyte = 838'861};
    struct {
        OperationKind kind;
        std::vector<std::string_view> all;
    } const operations[] = {{OperationKind::allreduce, {"recursive_doubling", "rabenseifner", "ring"}},
                            {OperationKind::reduce_scatter, {"recursive_halving", "ring"}}};
    for (const auto& [kind, all] : operations)
        for (const int ranks : {17, 48, 64, 256, 1024})
            for (const std::uint64_t share : {300, 1 << 10, 4 << 10, 32 << 10}) {
                if (ranks == 1024 && share > 4 << 10) continue;  // two million messages of a ring
                if (kSanitized && ranks > 64) continue;
                const std::uint64_t bytes = kind == OperationKind::allreduce ? share * static_cast<std::uint64_t>(ranks) : share;
                Simulation::Options options;
                options.ranks = ranks;
                options.node_memory = false;
                options.model.alpha = 2'000;
                options.model.beta = 0.8;
                const std::string_view taken = collectives::select(kind, {.bytes = bytes, .ranks = ranks, .costs = &costs}).entry->name;
                Nanoseconds best = std::numeric_limits<Nanoseconds>::max(), its = 0;
                for (const std::string_view name : all) {
                    if (name == "ring" && ranks == 1024 && taken != name) continue;  // a million messages
                    const Nanoseconds time = time_of(collectives::find_algorithm(kind, name, collectives::kUsual), options, bytes);
                    best = std::min(best, time);
                    if (name == taken) its = time;
                }
                EXPECT_LE(static_cast<double>(its), 1.2 * static_cast<double>(best))
                    << runtime::name(kind) << ", " << ranks << " ranks, shares of " << share << " bytes: " << taken;
            }
}

}  // namespace
}  // namespace rollcall::model_test
