/// \file
/// Combines blocks on their way around a ring of ranks.
#pragma once

#include <array>
#include <functional>

#include "runtime/engine/operation.hpp"

namespace rollcall::collectives {

/// Where a rank has the blocks, by their numbers.
struct RingBlocks {
    /// Memory for incoming blocks, used in turn. Each is as long as the longest block.
    std::array<transport::Bytes, 2> room;
    std::function<transport::ConstBytes(int number)> brought;
    /// Where the combination of block `number` with what came goes.
    std::function<transport::Bytes(int number, transport::Bytes come)> combined;
};

/// Takes P - 1 steps. In step i this rank sends block `first` - i to the next rank: in step 0 its own contribution, later what it has
/// combined. It also receives block `first` - i - 1 from the rank before and combines it with its own contribution. In the end block
/// `first` + 1 is complete here. Numbers are modulo P. On all ranks `first` minus the rank must be the same. The place where a block is
/// combined must stay until the next step is over. For more than one rank. Uses the steps from 0 to P - 2.
runtime::Task combine_around_ring(runtime::Operation& op, int first, RingBlocks blocks);

}  // namespace rollcall::collectives
