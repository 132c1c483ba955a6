/// \file
/// A reduce_scatter by pairwise exchange, of which algorithms are made that keep rank order.
///
/// Example: 4 ranks. Rank 1 sends to 2, 3 and 0, and receives b0, b3 and b2 from 0, 3 and 2, in this order. With its own b1 it combines
/// b0 + b1, then b2 + b3, and at the end (b0 + b1) + (b2 + b3).
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/engine/operation.hpp"

namespace rollcall::collectives {

/// Combines the blocks that all ranks bring for this rank, in rank order, into `own`, and sends each other rank what `brought` returns for
/// it. What this rank brings for itself may stand in `own`. In which order operands are combined does not depend on arrivals. All blocks
/// have left when it ends. Uses one step.
runtime::Task combine_pairwise(runtime::Operation& op, std::function<transport::ConstBytes(int rank)> brought, transport::Bytes own,
                               std::uint64_t step);

}  // namespace rollcall::collectives
