/// \file
/// Shared by the tests of operations between two groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rollcall/reduction.hpp>

#include "collectives/reductions/reductions.hpp"
#include "tests/model/job.hpp"

namespace rollcall::model_test {

using BlockSizes = std::vector<std::uint64_t>;

/// Returns a byte of the data that rank `from` has for all ranks, or for rank `to`.
inline std::byte content(int from, std::uint64_t position, int to = 0) {
    return static_cast<std::byte>(static_cast<std::uint64_t>(from) * 131 + static_cast<std::uint64_t>(to) * 61 + position * 7 +
                                  (position >> 8) + 1);
}

/// A byte takes 1 ns, each direction carries one message at a time, and data waits for its receiver. Ranks share no memory.
inline runtime::Simulation::Options single_ported() {
    runtime::Simulation::Options options;
    options.landing_bytes = 0;
    options.eager_bytes = 0;
    options.node_memory = false;
    return options;
}

/// All ranks are on one node. A byte takes 1 ns to copy.
inline runtime::Simulation::Options one_node() {
    runtime::Simulation::Options options;
    options.model.gamma = 1;
    return options;
}

/// What a rank brings to a call between groups of `p` and `q` ranks, without memory. `first` and `second` are the sizes of their blocks,
/// which are the same where there is a root or elements are combined.
inline runtime::Arguments arguments_between(const collectives::OperationRow& row, int p, int q, int root, std::uint64_t first,
                                            std::uint64_t second, int rank) {
    const bool of_first = rank < p;
    runtime::Arguments arguments;
    if (row.combines) arguments.combiner = collectives::combiner_of(reduction_of<std::uint8_t>(sum));
    if (root >= 0 && rank != root && of_first == (root < p)) return arguments;  // It has no part.
    const auto others = static_cast<std::uint64_t>(of_first ? q : p);
    const auto size = [&](collectives::Amount amount, std::uint64_t block) {
        return amount == collectives::Amount::none ? 0 : amount == collectives::Amount::one ? block : block * others;
    };
    const collectives::Amounts& amounts = row.amounts[rank == root];
    arguments.contribution.size = size(amounts.contribution, of_first ? first : second);
    arguments.data.size = size(amounts.data, of_first ? second : first);
    arguments.result.size = size(amounts.result, first);
    return arguments;
}

/// The call of a rank, likewise.
inline runtime::Call call_between(const collectives::AlgorithmEntry& entry, int p, int root, std::uint64_t first, std::uint64_t second,
                                  int rank) {
    const bool has_part = root < 0 || rank == root || (rank < p) != (root < p);
    const bool in_blocks =
        entry.operation == runtime::OperationKind::intergroup_allgather || entry.operation == runtime::OperationKind::intergroup_alltoall;
    return collectives::make_call(entry, root, has_part ? first : runtime::kManySizes, in_blocks ? second : 0,
                                  reduction_of<std::uint8_t>(sum));
}

}  // namespace rollcall::model_test
