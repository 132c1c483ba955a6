/// \file
/// The blocks of a node that one of its ranks passes on, between its node and a root on another node.
#pragma once

#include <cstdint>

#include "collectives/blocks/blocks.hpp"
#include "runtime/group/group.hpp"
#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

/// How many bytes of blocks this rank passes on (AlgorithmEntry::passes_on): `bytes` for each rank of its node if it is the lowest one there,
/// it is not alone, and the root is on another node; otherwise 0. `nodes` may be null: all ranks are on one node.
std::uint64_t blocks_of_its_node(std::uint64_t bytes, int root, int rank, const runtime::Nodes* nodes);

/// Memory for them. If the part runs without its caller, it is the operation's `data`, which counts in the landing budget.
class PassedOn {
  public:
    /// `like`: memory of the caller, which has no address in a simulation without data.
    PassedOn(const runtime::Operation& op, transport::ConstBytes like)
        : given_(op.arguments().data),
          scratch_(given_.size ? 0 : blocks_of_its_node(op.call().bytes, op.root(), op.rank(), op.nodes()), like) {}
    transport::Bytes bytes() const { return given_.size ? given_ : scratch_.bytes(); }

  private:
    transport::Bytes given_;
    Scratch scratch_;
};

}  // namespace rollcall::collectives
