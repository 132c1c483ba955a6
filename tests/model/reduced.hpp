/// \file
/// Calls that combine elements, in a simulation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rollcall/reduction.hpp>

#include "collectives/selection.hpp"
#include "tests/model/job.hpp"

namespace rollcall::model_test {

using collectives::AlgorithmEntry;
using runtime::OperationKind;
using runtime::Simulation;
using Times = std::vector<Nanoseconds>;

/// Returns the algorithms of an operation that support this reduction.
inline std::vector<const AlgorithmEntry*> algorithms_for(OperationKind operation, const Reduction& reduction) {
    auto found = algorithms(operation);
    const auto has = collectives::conditions_of(collectives::combiner_of(reduction), collectives::kReal);
    std::erase_if(found, [&](const AlgorithmEntry* entry) { return !has.contains(entry->needs); });
    return found;
}

/// One call of all ranks, with data. `in_place` applies to ranks that get the result.
template <class T>
struct Reduced {
    Reduced(const Simulation::Options& options, const AlgorithmEntry& entry, int root, const Reduction& reduction,
            const std::vector<std::vector<T>>& operands, std::uint64_t segment, bool in_place, const Times& arrivals)
        : contributions(operands) {
        const auto& row = collectives::operation(entry.operation);
        const std::size_t count = operands[0].size() / (row.in_blocks ? operands.size() : 1);
        results.assign(operands.size(), std::vector<T>(count));
        if (in_place && !row.in_blocks) results = operands;
        const std::uint64_t bytes = count * sizeof(T);
        const int call_root = row.has_root ? root : -1;
        Simulation simulation(options);
        const auto outcome = simulation.run(
            [&](int rank) {
                const auto r = static_cast<std::size_t>(rank);
                const bool has_result = row.data.is_had(rank == root);
                const std::uint64_t piece = entry.segmented ? segment : 0;
                Simulation::RankCall call{collectives::make_call(entry, call_root, bytes, piece, reduction), entry.algorithm, {}};
                T* own = contributions[r].data();
                T* into = results[r].data();
                if (in_place && has_result) (row.in_blocks ? into : own) = row.in_blocks ? own + r * count : into;
                call.arguments = collectives::arguments_of(row, {.contribution = own, .data = into}, bytes, options.ranks, rank == root);
                call.arguments.segment_bytes = piece;
                call.arguments.oracle = arrivals.data();
                call.arguments.combiner = collectives::combiner_of(reduction);
                return call;
            },
            arrivals);
        exits = outcome.exits;
        messages = outcome.messages;
        for (const auto& error : outcome.errors) EXPECT_EQ(error, nullptr) << error->what();
        for (std::size_t r = 0; r < operands.size(); ++r) {
            const auto block = contributions[r].begin() + static_cast<std::ptrdiff_t>(r * count);
            if (in_place && row.in_blocks) {
                results[r].assign(block, block + static_cast<std::ptrdiff_t>(count));
                std::copy_n(operands[r].begin() + static_cast<std::ptrdiff_t>(r * count), count, block);
            }
            EXPECT_TRUE(bytes == 0 || std::memcmp(contributions[r].data(), operands[r].data(), operands[r].size() * sizeof(T)) == 0)
                << "what a rank brings is not written";
            if (!row.data.is_had(static_cast<int>(r) == root)) results[r].clear();
        }
    }
    std::vector<std::vector<T>> results, contributions;
    Times exits;
    std::uint64_t messages = 0;
};

/// Returns a call without early data, with the costs of the worked examples: a byte takes 1 ns on its way. `bytes` is the size of a block,
/// where the operation has blocks.
inline Reduced<std::uint8_t> example(OperationKind operation, std::string_view name, int n, int root, std::uint64_t bytes,
                                     std::uint64_t segment, const Times& arrivals, double gamma = 0, bool full_duplex = true) {
    Simulation::Options options;
    options.ranks = n;
    options.landing_bytes = 0;
    options.eager_bytes = 0;
    options.model.gamma = gamma;
    options.model.full_duplex = full_duplex;
    const std::uint64_t all = collectives::operation(operation).in_blocks ? bytes * static_cast<std::uint64_t>(n) : bytes;
    const std::vector<std::vector<std::uint8_t>> operands(static_cast<std::size_t>(n), std::vector<std::uint8_t>(all, 1));
    return {options,  collectives::find_algorithm(operation, name, collectives::kReal | collectives::Condition::oracle),
            root,     reduction_of<std::uint8_t>(sum),
            operands, segment,
            false,    arrivals};
}
inline Times exits_of(OperationKind operation, std::string_view name, int n, int root, std::uint64_t bytes, std::uint64_t segment,
                      const Times& arrivals, double gamma = 0, bool full_duplex = true) {
    return example(operation, name, n, root, bytes, segment, arrivals, gamma, full_duplex).exits;
}

}  // namespace rollcall::model_test
