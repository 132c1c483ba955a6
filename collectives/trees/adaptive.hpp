/// \file
/// Trees that take O(n) steps to make: the star, the binomial tree that does not know sizes, and the one that adapts to them. Pure
/// functions.
#pragma once

#include "collectives/trees/merging.hpp"

namespace rollcall::collectives {

/// Each rank sends to the root, in the order of ranks.
BlockTree star_tree(int ranks, int root);

/// The binomial trees below merge, in round d, the segments [2k 2^d, (2k+1) 2^d) and [(2k+1) 2^d, (2k+2) 2^d), as far as there are such
/// ranks. The segment with the root receives; for segments without it the trees differ.

/// The root of the upper segment receives. Example, 5 ranks, root 1: 0 -> 1, 2 -> 3, 3 -> 1, 4 -> 1.
BlockTree oblivious_tree(int ranks, int root = kAnyRoot);

/// The one that is complete earlier receives; where both are, the upper one. So the larger one does: Träff, Proposition 1. With
/// gamma = beta and no arrivals, and a root of its own choice, it takes at most ceil(log2 n) alpha + beta * (all bytes).
BlockTree adaptive_tree(const BlockProblem& problem, const LinearCosts& costs, int root = kAnyRoot);

/// The same without costs, as ranks do it who know nothing but sizes: the segment with more bytes receives; of equal ones the upper.
bool lower_receives(std::uint64_t lower_bytes, std::uint64_t upper_bytes);
BlockTree adaptive_tree(std::span<const std::uint64_t> sizes, int root = kAnyRoot);

}  // namespace rollcall::collectives
