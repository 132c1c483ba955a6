/// \file
/// The best ordered tree where links cost what they cost each: Träff, section 3.2, Figure 5. Pure.
#pragma once

#include "collectives/trees/optimal.hpp"

namespace rollcall::collectives {

/// As optimal_tree() with equal links, with the time of each range for each of its roots. Figure 5 is taken for every split and both
/// sides of it (as printed it gives a first or last root one child only). For each range and split, each pair of roots is looked at: n^5 /
/// 60 steps (the paper counts n^4), and 8 n^3 bytes. 48 ranks take about 10 ms, 100 about half a second.
TimedTree optimal_tree(const BlockProblem& problem, const LinkCosts& costs, int root = kAnyRoot);

/// The costs with which a problem of blocks of one byte each is a broadcast or reduction of a message of so many bytes (Theorem 4): each
/// transfer takes the same whatever is below it. In a reduction operands stand in the order of ranks; a broadcast uses the tree backwards.
LinearCosts costs_of_message(const LinearCosts& costs, double message);
LinkCosts costs_of_message(const LinkCosts& costs, double message);

}  // namespace rollcall::collectives
