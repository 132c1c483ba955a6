/// \file
/// Trees whose segments are not in the order of ranks, so that the root puts the blocks in their places: Träff, section 4 and Lemma 2.
/// Pure.
#pragma once

#include "collectives/trees/optimal.hpp"

namespace rollcall::collectives {

/// The largest number of ranks that best_unordered_tree() takes. It needs 3^n n steps and 8 n 2^n bytes. Finding the best tree is
/// NP-complete.
inline constexpr int kMostUnorderedRanks = 14;

/// The best of all trees, ordered or not (Proposition 2). Throws Error{invalid_argument} beyond kMostUnorderedRanks.
TimedTree best_unordered_tree(const BlockProblem& problem, const LinearCosts& costs, int root = kAnyRoot);

/// The size from which on blocks are large: of two sizes that follow each other, those with the largest ratio separate small blocks from
/// large ones. 0 if all sizes are equal.
std::uint64_t large_from(std::span<const std::uint64_t> sizes);

/// For blocks that are either small or large. The ranks with less than `large` bytes form one adaptive tree, and the others a second one,
/// at the same time. Then one more segment is sent between their two roots: the smaller one, or that of the part without `root`. Lemma 2:
/// with one large block y at the root, x at all others, gamma = beta and y >= (n - 1) x + ceil(log2 (n - 1)) alpha / beta, it takes alpha +
/// beta * (all bytes), which is the least possible time.
BlockTree two_part_tree(const BlockProblem& problem, std::uint64_t large, const LinearCosts& costs, int root = kAnyRoot);

/// The same, where a block that is too large for its tree goes straight to the root. The best of up to six trees: the blocks that go
/// straight are none, those of at least 8 alpha / beta that are large, or all large ones; and the root is in the tree of its own block, or
/// in the tree of the large ones. So large blocks need not be sent twice to a root with a small block. The first of equal ones is
/// two_part_tree().
SegmentTree best_two_part_tree(const BlockProblem& problem, std::uint64_t large, const LinearCosts& costs, int root = kAnyRoot);

}  // namespace rollcall::collectives
