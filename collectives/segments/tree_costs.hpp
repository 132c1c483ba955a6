/// \file
/// The costs by which the trees of real calls are chosen: those of the job between its hosts, which are the same on all ranks. Pure.
#pragma once

#include <cstdint>

#include "collectives/trees/costs.hpp"
#include "foundation/costs.hpp"

namespace rollcall::collectives {

/// In nanoseconds. gamma is at most beta, as the search for trees requires.
///
/// alpha is the time for which a message keeps its sender busy, and not its latency. The model charges alpha for each message that enters a
/// rank. There are up to n - 1 of them at a root, and their latencies overlap. Only the ceil(log2 n) messages of a path do not, so this is
/// the smaller error.
LinearCosts tree_costs(const Costs& costs);

/// From this size on, in bytes, blocks of an adaptive tree go straight between their rank and the root. To send such a block by itself
/// costs at most an eighth more than to send it together with others, and in a tree it may be sent several times. At least 1. No floating
/// point is used, so all ranks get the same number.
std::uint64_t straight_from(const Costs& costs);

}  // namespace rollcall::collectives
