/// \file
/// Calls of algorithms for several nodes, for the tests of these.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/model/job.hpp"

namespace rollcall::model_test {

using collectives::AlgorithmEntry;
using runtime::OperationKind;
using runtime::Simulation;
using Times = std::vector<Nanoseconds>;

inline const AlgorithmEntry& two_level(OperationKind operation) {
    return collectives::find_algorithm(operation, "two_level", collectives::kReal);
}
inline const AlgorithmEntry& arrival_ordered() {
    return collectives::find_algorithm(OperationKind::alltoall, "arrival_ordered_two_level", collectives::kReal);
}

/// A byte takes 1 on the network, and 0.2 to copy or to combine.
inline Simulation::Options two_on_each_node(int ranks) {
    Simulation::Options options;
    options.ranks = ranks;
    options.ranks_per_node = 2;
    options.eager_bytes = 0;
    options.model.gamma = 0.2;
    return options;
}

inline Simulation::Outcome outcome_of_entry(const AlgorithmEntry& entry, const Simulation::Options& options, int root, std::uint64_t bytes,
                                            const Times& arrivals) {
    Simulation simulation(options);
    return simulation.run(
        [&](int rank) {
            Simulation::RankCall call{collectives::make_call(entry, root, bytes, 0), entry.algorithm, {}};
            call.arguments = collectives::arguments_of(collectives::operation(entry.operation), {}, bytes, options.ranks, rank == root);
            return call;
        },
        arrivals);
}
inline Simulation::Outcome two_level_outcome(OperationKind operation, const Simulation::Options& options, int root, std::uint64_t bytes,
                                             const Times& arrivals) {
    return outcome_of_entry(two_level(operation), options, root, bytes, arrivals);
}

/// An alltoall of blocks that have sizes of their own.
inline Simulation::Outcome alltoall_of_own_sizes(const AlgorithmEntry& entry, const Simulation::Options& options,
                                                 const std::function<std::uint64_t(int from, int to)>& bytes, const Times& arrivals) {
    const auto ranks = static_cast<std::size_t>(options.ranks);
    std::vector<std::vector<runtime::Block>> sent(ranks), received(ranks);
    Simulation simulation(options);
    return simulation.run(
        [&](int rank) {
            const auto r = static_cast<std::size_t>(rank);
            Simulation::RankCall call{collectives::make_call(entry, -1, runtime::kManySizes, 0), entry.algorithm, {}};
            call.call.own_sizes = true;
            for (int other = 0; other < options.ranks; ++other) {
                sent[r].push_back({call.arguments.contribution.size, bytes(rank, other)});
                received[r].push_back({call.arguments.data.size, bytes(other, rank)});
                call.arguments.contribution.size += bytes(rank, other);
                call.arguments.data.size += bytes(other, rank);
            }
            call.arguments.contribution_blocks = sent[r].data();
            call.arguments.blocks = received[r].data();
            return call;
        },
        arrivals);
}
inline Simulation::Outcome alltoall_of_own_sizes(const Simulation::Options& options, std::uint64_t bytes) {
    return alltoall_of_own_sizes(
        two_level(OperationKind::alltoall), options, [&](int, int) { return bytes; }, Times(static_cast<std::size_t>(options.ranks)));
}

}  // namespace rollcall::model_test
