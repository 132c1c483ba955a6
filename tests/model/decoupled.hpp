/// \file
/// For the tests of calls that begin before their callers and go on after them: a machine, calls without data, and calls built by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/reductions/reductions.hpp"
#include "tests/model/job.hpp"

namespace rollcall::model_test::decoupled {

using collectives::AlgorithmEntry;
using collectives::OperationRow;
using runtime::Arguments;
using runtime::Call;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Simulation;
using Times = std::vector<Nanoseconds>;

inline Simulation::Options machine(int ranks, double gamma, bool decoupled = true) {
    Simulation::Options options;
    options.ranks = ranks;
    options.model.alpha = 20;
    options.model.beta = 1;
    options.model.gamma = gamma;
    if (decoupled) options.find_part_alone = &collectives::part_alone;
    return options;
}

inline Simulation::Outcome run(const Simulation::Options& options, const AlgorithmEntry& entry, int root, std::uint64_t bytes,
                               std::uint64_t segment, const Times& arrivals) {
    Simulation simulation(options);
    const OperationRow& row = collectives::operation(entry.operation);
    return simulation.run(
        [&](int rank) {
            Simulation::RankCall call;
            call.call = collectives::make_call(entry, root, bytes, segment);
            call.algorithm = entry.algorithm;
            call.arguments = collectives::arguments_of(row, {}, bytes, options.ranks, rank == root);
            call.arguments.segment_bytes = segment;
            return call;
        },
        arrivals);
}

inline Nanoseconds copy_time(double gamma, std::uint64_t bytes) { return static_cast<Nanoseconds>(gamma * static_cast<double>(bytes)) + 1; }

/// One call of one rank, built by hand.
struct HandMade {
    HandMade(Simulation& simulation, int its_rank, const AlgorithmEntry& entry, int root, std::uint64_t bytes, std::byte fill,
             std::uint64_t segment = 0)
        : rank(its_rank), memory(bytes, fill) {
        Arguments arguments = collectives::arguments_of(collectives::operation(entry.operation),
                                                        {.contribution = memory.data(), .data = memory.data(), .result = memory.data()},
                                                        bytes, simulation.size(), rank == root);
        arguments.segment_bytes = segment;
        if (collectives::operation(entry.operation).combines) arguments.combiner = collectives::combiner_of(Reduction());
        operation = std::make_unique<Operation>(simulation.world(rank), simulation.world(rank).next_sequence++,
                                                collectives::make_call(entry, root, bytes, segment), entry.algorithm, arguments);
    }
    int rank;
    std::vector<std::byte> memory;
    std::unique_ptr<Operation> operation;
};

/// What such a call does at a time of the virtual clock.
struct Later {
    Simulation& simulation;
    HandMade& call;
    bool ended_at_once = false;  ///< The call was done as soon as it was abandoned.
    static void begin(void* self, int) {
        auto& later = *static_cast<Later*>(self);
        later.simulation.engine(later.call.rank).begin(*later.call.operation);
    }
    static void abandon(void* self, int) {
        auto& later = *static_cast<Later*>(self);
        later.call.operation->abandon(later.simulation.engine(later.call.rank), Error(ErrorCode::timeout, "it took too long"));
        later.ended_at_once = later.call.operation->done();
    }
};

}  // namespace rollcall::model_test::decoupled
