/// \file
/// Steps that some of a communicator's ranks carry out among themselves. Algorithms are made of them.
#pragma once

#include "collectives/blocks/parts.hpp"
#include "collectives/trees/halving.hpp"
#include "runtime/engine/operation.hpp"

namespace rollcall::collectives {

using runtime::Operation;
using runtime::Task;

/// Some ranks, each `stride` after the one before. They are counted as members 0 .. size - 1, from the `shift`-th one on.
struct Members {
    int first = 0, size = 1, shift = 0, stride = 1;
    int rank(int member) const { return first + static_cast<int>((static_cast<long long>(member) + shift) % size) * stride; }
};

/// Allgather in a ring. At first member i has part i of `data`; in the end every member has all parts. Each member sends its own part to
/// the next member, then the part that it received last, in size - 1 steps. No member sends or receives a byte twice. Uses one step for
/// each of them, from `step` on.
Task gather_all_in_ring(Operation& op, const Members& members, int member, const Parts& parts, transport::Bytes data, std::uint64_t step);
/// The same where only the next and the previous member are known. There are as many members as parts.
Task gather_all_in_ring(Operation& op, int next, int previous, int member, const Parts& parts, transport::Bytes data, std::uint64_t step);

/// Scatters the parts of `data` down a halving tree, in which `place` is this rank's place. The parts of its subtree are those from `own`
/// on, one for each rank, its own first. The parent sends them; the root of the tree has them. Uses one step.
Task scatter_down(Operation& op, const HalvingPlace& place, int own, const Parts& parts, transport::Bytes data, std::uint64_t step);

/// Broadcast of member 0's data: it is scattered down a binomial tree, one part for each member, and then gathered in a ring. Each member
/// sends and receives at most about twice the data. Uses the steps from `step` on, one for each member.
Task scatter_and_gather_all(Operation& op, const Members& members, int member, transport::Bytes data, std::uint64_t step);

/// Collects the parts of `data` at member 0, part i from member i, up a binomial tree: ceil(log2(size)) messages on the longest path. A
/// member has its own part in `own`. Only member 0 uses `data`, in which its own part stands already. Uses one step.
Task gather_up(Operation& op, const Members& members, int member, const Parts& parts, transport::ConstBytes own, transport::Bytes data,
               std::uint64_t step);

}  // namespace rollcall::collectives
