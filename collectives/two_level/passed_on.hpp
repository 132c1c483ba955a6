/// \file
/// The blocks of a node that one of its ranks passes on, between its node and a root on another node.
#pragma once

#include <cstdint>

#include "collectives/blocks/blocks.hpp"
#include "runtime/engine/operation.hpp"
#include "runtime/group/group.hpp"

namespace rollcall::collectives {

/// How many bytes of blocks this rank passes on (AlgorithmEntry::passes_on): `bytes` for each rank of its node if it is the lowest one
/// there, it is not alone, and the root is on another node; otherwise 0. Between two groups only the ranks of the group count that the root
/// is not in.
std::uint64_t blocks_of_its_node(std::uint64_t bytes, int root, int rank, const runtime::Group& group);

/// Whether another rank of its node passes this rank's block on (AlgorithmEntry::only_publishes).
bool has_another_leader(std::uint64_t bytes, int root, int rank, const runtime::Group& group);

/// Memory for them. If the part runs without its caller, it is the operation's `data`, which counts in the landing budget.
class PassedOn {
  public:
    /// `like`: memory of the caller, which has no address in a simulation without data. `ranks`: how many ranks of this node have a block.
    PassedOn(const runtime::Operation& op, transport::ConstBytes like, std::size_t ranks)
        : given_(op.arguments().data), scratch_(given_.size ? 0 : op.call().bytes * ranks, like) {}
    transport::Bytes bytes() const { return given_.size ? given_ : scratch_.bytes(); }

  private:
    transport::Bytes given_;
    Scratch scratch_;
};

}  // namespace rollcall::collectives
