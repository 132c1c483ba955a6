// Reduce in pieces up a binary tree. P. Sanders and J. F. Sibeyn, "A bandwidth latency tradeoff for broadcast and reduction", Information
// Processing Letters 86 (2003), compare it with chains and binomial trees.
//
// Idea: a compromise of a binomial tree and a chain. No rank receives more than two messages of the call, however many ranks there are, and
// the longest path has log2 P edges. The elements are cut into X pieces; each rank combines a piece with its own as soon as it has received
// it from both children, and passes the result on. Subtrees are consecutive ranks. So if the operation does not commute, the tree ends at
// rank 0, and from there the pieces go to the root one by one.
//
// Example: P = 4, root 0, X = 3 pieces that take 1 each, all ranks arrive at 0. 0 has the children 1 and 3; 1 has the child 2. Rank 0
// receives the pieces of its children in turn: those of rank 3 until 1, 3, 5, and those of rank 1, which are b + c, until 2, 4, 6. Rank 1
// receives from rank 2 meanwhile.
#include "collectives/trees/binary.hpp"
#include "collectives/combining/pieces_up_tree.hpp"
#include "collectives/reduce/reduce.hpp"

namespace rollcall::collectives {

Task reduce_binary(Operation& op) { return combine_pieces_up_tree(op, binary_tree(op.size(), top_of(op), op.rank())); }

std::uint64_t reduce_binary_collects(std::uint64_t bytes, int root, int rank, int ranks) {
    return static_cast<std::uint64_t>(binary_children(ranks, root, rank)) * bytes;
}

}  // namespace rollcall::collectives
