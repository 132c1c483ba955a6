/// \file
/// Trees that take O(n) steps to make: the star, the binomial tree that ignores sizes, and the binomial tree that adapts to them. Pure
/// functions.
#pragma once

#include "collectives/trees/merging.hpp"

namespace rollcall::collectives {

/// A star: each rank sends to the root, in the order of ranks.
BlockTree star_tree(int ranks, int root);

/// In round d, the binomial trees below merge the segments [2k 2^d, (2k+1) 2^d) and [(2k+1) 2^d, (2k+2) 2^d), as far as there are such
/// ranks. The segment with the root receives. For two segments without the root, the trees differ.

/// The upper segment receives, at its root. Example: 5 ranks, root 1: 0 -> 1, 2 -> 3, 3 -> 1, 4 -> 1.
BlockTree oblivious_tree(int ranks, int root = kAnyRoot);

/// The segment receives with which the merged segment is complete earlier; if both are equal, the upper one. So the larger segment
/// receives: Träff, Proposition 1. With gamma = beta, without arrivals, and with a root of its own choice, the tree takes at most ceil(log2
/// n) alpha + beta * (all bytes).
BlockTree adaptive_tree(const BlockProblem& problem, const LinearCosts& costs, int root = kAnyRoot);

/// The same without costs, for ranks that know nothing but sizes. The segment with more bytes receives; if both have the same number, the
/// upper one.
bool lower_receives(std::uint64_t lower_bytes, std::uint64_t upper_bytes);
BlockTree adaptive_tree(std::span<const std::uint64_t> sizes, int root = kAnyRoot);

}  // namespace rollcall::collectives
