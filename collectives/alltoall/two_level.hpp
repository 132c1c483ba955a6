/// \file
/// What the forms of the alltoall on two levels have in common.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/alltoall/alltoall.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {

/// The ranks, node by node.
struct NodeOrder {
    explicit NodeOrder(const Levels& levels) {
        for (int node = 0; node < levels.nodes(); ++node) {
            first.push_back(ranks.size());
            ranks.insert(ranks.end(), levels.on(node).begin(), levels.on(node).end());
        }
    }
    std::vector<int> ranks;
    std::vector<std::size_t> first;  ///< How many ranks are on the nodes before this one.
};

/// For blocks that have sizes of their own.
Task alltoall_two_level_own_sizes(Operation& op, const Levels& levels);

}  // namespace rollcall::collectives
