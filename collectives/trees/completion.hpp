/// \file
/// How long a gather or scatter over a tree takes: Träff, Definition 2 and section 2.5. Pure functions.
#pragma once

#include "collectives/trees/block_tree.hpp"
#include "collectives/trees/costs.hpp"

namespace rollcall::collectives {

/// The time at which the root has everything. Each rank receives the segments of its children in their order, one after the other, and none
/// before its sender has it. The copy of the rank's own block has its place between them. A rank does nothing else meanwhile. Example:
/// alpha = 10, beta = gamma = 1, sizes 4 2 3, rank 1 sends to 0 and then rank 2 does: the copy takes 4, then 12, then 13, together 29.
double completion_time(const BlockTree& tree, const BlockProblem& problem, const LinearCosts& costs);
double completion_time(const BlockTree& tree, const BlockProblem& problem, const LinkCosts& costs);

/// The same if each rank can receive `ports` segments at the same time. The port that is free first takes the next segment, or the copy.
double completion_time(const BlockTree& tree, const BlockProblem& problem, const LinearCosts& costs, int ports);

}  // namespace rollcall::collectives
