/// \file
/// How long a gather or scatter over a tree takes: Träff, Definition 2 and section 2.5. Pure functions.
#pragma once

#include "collectives/trees/block_tree.hpp"
#include "collectives/trees/costs.hpp"

namespace rollcall::collectives {

/// When the root has everything. Each rank receives the segments of its children in their order, one after the other, each not before its
/// sender has it; its own copy has its place between them, and nothing else happens meanwhile.
/// Example: alpha = 10, beta = gamma = 1, sizes 4 2 3, 1 sends to 0 and then 2 does: copy 4, then 12, then 13, together 29.
double completion_time(const BlockTree& tree, const BlockProblem& problem, const LinearCosts& costs);
double completion_time(const BlockTree& tree, const BlockProblem& problem, const LinkCosts& costs);

/// The same where each rank can receive `ports` segments at once: whichever port is free first takes the next segment, or the copy.
double completion_time(const BlockTree& tree, const BlockProblem& problem, const LinearCosts& costs, int ports);

}  // namespace rollcall::collectives
