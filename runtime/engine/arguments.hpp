/// \file
/// What an algorithm is given: the buffers and parameters of its call.
#pragma once

#include <cstdint>

#include "foundation/clock.hpp"
#include "foundation/combiner.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

struct ClockSynchronization;

/// The place of a block in a buffer, in bytes.
struct Block {
    std::uint64_t offset, size;
};

/// The buffers and parameters of an algorithm. The caller owns the spans and buffers.
struct Arguments {
    transport::Bytes data;               ///< Broadcast: the message. Exchange, gather, allgather, alltoall, and scatter (only read): all
                                         ///< blocks, rank by rank.
                                         ///< Reduce (at the root), allreduce, scans: where the result goes; may be the contribution.
                                         ///< Reduce_scatter: where this rank's block of it goes; may be its place in the contribution.
    transport::ConstBytes contribution;  ///< Exchange, gather, allgather: this rank's block. Alltoall: its blocks for all, rank by rank.
                                         ///< Operations that combine: this rank's elements.
    transport::Bytes result;             ///< Scatter: where this rank's block goes.
    /// Gather, scatter: where the block of each rank is in `data`, at the root, where blocks have sizes of their own. Allgather, alltoall:
    /// the same on all ranks. Null: all blocks have one size and stand one behind the other.
    const Block* blocks = nullptr;
    const Block* contribution_blocks = nullptr;  ///< Alltoall: the same for `contribution`.
    std::uint64_t segment_bytes = 0;             ///< Size of a piece of a pipelined transfer; 0: whole.
    const Nanoseconds* oracle = nullptr;         ///< The arrival time of each rank, known in advance (simulation only).
    ClockSynchronization* clocks = nullptr;      ///< This rank's part in a synchronisation of clocks.
    Combiner combiner = {};                      ///< Reduce, ...: combines two elements into one.
};

}  // namespace rollcall::runtime
