/// \file
/// What some of a communicator's ranks do among themselves: steps that algorithms are made of.
#pragma once

#include "collectives/parts.hpp"
#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

using runtime::Operation;
using runtime::Task;

/// Some ranks, each `stride` after the one before, counted as members 0 .. size - 1 from the `shift`-th one on.
struct Members {
    int first = 0, size = 1, shift = 0, stride = 1;
    int rank(int member) const { return first + static_cast<int>((static_cast<long long>(member) + shift) % size) * stride; }
};

/// All-gather in a ring. Member i has part i of `data`; then all have all: each sends its own part to the next member, then what it got
/// last, in size - 1 steps. Nobody sends or receives a byte twice. Uses a step for each, from `step` on.
Task gather_all_in_ring(Operation& op, const Members& members, int member, const Parts& parts, transport::Bytes data, std::uint64_t step);

/// Broadcast of member 0's data: scattered down a binomial tree, one part for each member, then gathered in a ring. Each member sends and
/// receives about twice the data at most. Uses the steps from `step` on, one for each member.
Task scatter_and_gather_all(Operation& op, const Members& members, int member, transport::Bytes data, std::uint64_t step);

/// Collects the parts of `data` at member 0, part i from member i, up a binomial tree: ceil(log2(size)) messages on the longest way.
/// A member has its own part in `own`. `data` is looked at at member 0 only, which has its own part there already. Uses one step.
Task gather_up(Operation& op, const Members& members, int member, const Parts& parts, transport::ConstBytes own, transport::Bytes data,
               std::uint64_t step);

}  // namespace rollcall::collectives
