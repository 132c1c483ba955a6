/// \file
/// The scatters over a halving tree.
#pragma once

#include "collectives/arrivals/places.hpp"

namespace rollcall::collectives {

/// Takes the blocks of this rank's subtree from its parent (at the root: from `data`). Sends each child the blocks of its subtree; the
/// farthest child, which has the largest subtree, comes first. This rank's own block goes to `result`. Uses one step.
Task scatter_tree(Operation& op, const Places& places, transport::Bytes data, transport::Bytes result, std::uint64_t step = kTreeBlocks);
inline Task scatter_tree(Operation& op, const Places& places) {
    return scatter_tree(op, places, op.arguments().data, op.arguments().result);
}

/// The sorted binomial scatters: each rank learns its place, and then the tree is run. If `background`, a rank other than the root takes
/// and forwards blocks before its caller has arrived.
Task scatter_sorted_tree(Operation& op, bool background);

}  // namespace rollcall::collectives
