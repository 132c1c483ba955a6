/// \file
/// Shared by the tests of operations between two groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

}  // namespace rollcall::model_test
