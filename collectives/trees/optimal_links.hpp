/// \file
/// The best ordered tree if each link has costs of its own: Träff, section 3.2, Figure 5. Pure.
#pragma once

#include "collectives/trees/optimal.hpp"

namespace rollcall::collectives {

/// As optimal_tree() for equal links, but with the time of each range for each of its roots. Figure 5 is computed for every split and both
/// sides of it (as printed, it gives a first or last root only one child). For each range and split, each pair of roots is looked at: n^5 /
/// 60 steps (the paper counts n^4), and 8 n^3 bytes. 48 ranks take about 10 ms, 100 ranks about half a second.
///
/// Example: 3 blocks of 1 byte, beta = 1, alpha = 9 between ranks 0 and 1 and else 1. With root 0: 1 -> 2 takes 2, then 2 -> 0 takes 3,
/// together 5, because 1 -> 0 alone would take 10. The best root is 2, with 4.
TimedTree optimal_tree(const BlockProblem& problem, const LinkCosts& costs, int root = kAnyRoot);

/// Costs that turn a problem of blocks of one byte each into a broadcast or reduction of a message of so many bytes (Theorem 4): each
/// transfer takes the same time, whatever is below it. In a reduction, operands are in the order of ranks. A broadcast uses the tree
/// backwards.
LinearCosts costs_of_message(const LinearCosts& costs, double message);
LinkCosts costs_of_message(const LinkCosts& costs, double message);

}  // namespace rollcall::collectives
