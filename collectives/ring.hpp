/// \file
/// Blocks that are combined on their way around a ring of ranks.
#pragma once

#include <array>
#include <functional>

#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

/// Where a rank has the blocks, by their numbers.
struct RingBlocks {
    /// For what comes, in turn. Each is as long as any block.
    std::array<transport::Bytes, 2> room;
    std::function<transport::ConstBytes(int number)> brought;
    /// Where a block goes that is combined with what came of it.
    std::function<transport::Bytes(int number, transport::Bytes come)> combined;
};

/// P - 1 steps. In step i this rank sends block `first` - i (as it brings it; from then on as it was combined) to the next rank, and
/// combines block `first` - i - 1 of the one before with its own: so that in the end block `first` + 1 is complete here. Numbers are modulo
/// P. All ranks say the same of `first` minus their rank. Where a block is combined must stay until the next step is over. For more than
/// one rank. Uses the steps from 0 to P - 2.
runtime::Task combine_around_ring(runtime::Operation& op, int first, RingBlocks blocks);

}  // namespace rollcall::collectives
