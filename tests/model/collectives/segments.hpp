/// \file
/// Gathers and scatters over trees of segments: the places that ranks find, and the costs of the job.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "collectives/segments/found_places.hpp"
#include "collectives/segments/told_places.hpp"
#include "collectives/segments/tree_costs.hpp"
#include "tests/model/blocks.hpp"

namespace rollcall::model_test {

inline std::vector<collectives::SegmentPlace> found_places;  // By rank, of the last call.
inline std::uint64_t bytes_of_places = 0;                    // What the messages had in the last call of places().

inline runtime::Task only_adaptive_place(runtime::Operation& op) {
    co_await collectives::adaptive_place(op, found_places[static_cast<std::size_t>(op.rank())]);
}
inline runtime::Task only_optimal_place(runtime::Operation& op) {
    co_await collectives::optimal_place(op, found_places[static_cast<std::size_t>(op.rank())]);
}
inline runtime::Task only_sorted_place(runtime::Operation& op) {
    co_await collectives::sorted_optimal_place(op, found_places[static_cast<std::size_t>(op.rank())]);
}
inline runtime::Task only_two_part_place(runtime::Operation& op) {
    co_await collectives::two_part_place(op, found_places[static_cast<std::size_t>(op.rank())]);
}

inline runtime::Task only_predicted_place(runtime::Operation& op) {
    co_await collectives::predicted_place(op, found_places[static_cast<std::size_t>(op.rank())]);
    co_await op.arrival();
}

/// The trees that the root finds: how ranks learn their places in them, and how the root finds them.
struct ToldTree {
    std::string_view name;
    runtime::Algorithm place;
    collectives::SegmentTree (*choose)(const collectives::BlockProblem&, const collectives::LinearCosts&, int);
};
inline constexpr ToldTree kToldTrees[] = {{"optimal", &only_optimal_place, &collectives::best_segment_tree},
                                          {"sorted_optimal", &only_sorted_place, &collectives::best_sorted_tree},
                                          {"two_part", &only_two_part_place, &collectives::two_part_segment_tree}};

/// Lets all ranks of a job have these costs.
inline void set_costs(runtime::Simulation& simulation, const Costs& costs) {
    auto group = std::make_shared<runtime::Group>(*simulation.world(0).group);
    group->costs = &costs;
    for (int rank = 0; rank < simulation.size(); ++rank) simulation.world(rank).group = group;
}

/// A message keeps its sender busy for `gap`. 1 byte takes `byte`, and a tenth of that to copy. In nanoseconds.
inline Costs costs_of_network(Nanoseconds gap, double byte) {
    const auto mebibyte = static_cast<Nanoseconds>(byte * (1 << 20));
    Costs costs;
    costs.network_gap = gap;
    costs.network_latency = 2 * gap;
    costs.network_mebibyte = mebibyte;
    costs.copy_mebibyte = std::max<Nanoseconds>(mebibyte / 10, 1);
    return costs;
}

/// From 0.02 to 8 ns for a byte: networks of 1 to 400 Gbit/s.
inline Costs random_costs(Random& random) {
    return costs_of_network(static_cast<Nanoseconds>(random.between(500, 50'000)), random.pick(std::array{0.02, 0.08, 0.8, 8.0}));
}

inline const collectives::AlgorithmEntry& entry_of(runtime::OperationKind kind, std::string_view name) {
    return collectives::find_algorithm(kind, name);
}

inline BlocksCall call_of_sizes(const collectives::AlgorithmEntry& entry, int root, const std::vector<std::uint64_t>& sizes) {
    BlocksCall call{.entry = entry, .root = root, .blocks = {}, .own_sizes = sizes};
    std::uint64_t end = 0;
    for (const std::uint64_t size : sizes) {
        call.blocks.push_back({end, size});
        end += size;
    }
    call.fill();
    return call;
}

// Returns the places that the ranks find with this algorithm.
inline std::vector<collectives::SegmentPlace> places(BlocksCall& call, runtime::Algorithm algorithm,
                                                     const runtime::Simulation::Options& options, const std::vector<Nanoseconds>& delays,
                                                     const Costs& costs = kBuiltInCosts) {
    found_places.assign(call.blocks.size(), {});
    runtime::Simulation simulation(options);
    set_costs(simulation, costs);
    const auto outcome = simulation.run(
        [&](int rank) {
            runtime::Simulation::RankCall made = call.of(rank);
            made.algorithm = algorithm;
            return made;
        },
        delays);
    for (const auto& error : outcome.errors)
        if (error) ADD_FAILURE() << error->what();
    bytes_of_places = outcome.bytes;
    return found_places;
}

}  // namespace rollcall::model_test
