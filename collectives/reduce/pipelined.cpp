// Pipelined chain. This reduce mirrors the pipelined broadcast of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process
// arrival patterns", section 3.3, Figure 3 (c).
//
// Idea: the ranks form a chain that ends at the root. The elements are cut into X pieces. Each rank combines a piece with its own as soon
// as it has received it, and passes the result on. Each link carries the elements once, and the time is (X + P - 2) piece times. If the
// operation does not commute, the chain runs down the ranks to rank 0, and from there the pieces go to the root one by one. The part of a
// rank whose caller has not come takes the pieces of the rank before it into memory that becomes its result.
//
// Example: P = 4, root 0, X = 3 pieces that take 1 each, all ranks arrive at 0. Rank 3 sends its pieces until 1, 2, 3; rank 2 sends c + d
// until 2, 3, 4; rank 1 sends b + c + d until 3, 4, 5 = X + P - 2.
#include "collectives/combining/pieces_up_tree.hpp"
#include "collectives/reduce/reduce.hpp"

namespace rollcall::collectives {

Task reduce_pipelined(Operation& op) {
    const int n = op.size(), top = top_of(op), place = (op.rank() - top + n) % n;
    TreePlace in_chain;
    if (place > 0) in_chain.parent = (op.rank() - 1 + n) % n;
    if (place + 1 < n) in_chain.children.push_back((op.rank() + 1) % n);
    return combine_pieces_up_tree(op, std::move(in_chain));
}

std::uint64_t reduce_pipelined_collects(std::uint64_t bytes, int root, int rank, int ranks) {
    return (rank - root + ranks) % ranks == ranks - 1 ? 0 : bytes;
}

}  // namespace rollcall::collectives
