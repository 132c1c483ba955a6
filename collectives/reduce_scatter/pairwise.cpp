// Pairwise exchange. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH", International
// Journal of High Performance Computing Applications 2005, the section on reduce-scatter. (There it is for operands that commute.)
//
// Idea: in step i, rank r sends to rank r + i its elements of that rank's block, and receives from rank r - i that rank's elements of its
// own block. There are P - 1 steps, and in each one every rank sends a block and receives one. No rank forwards, so a late rank delays only
// what it contributes. The operands that come from r - 1 down to 0 are combined to the left of what is there. Those that come then, from P
// - 1 down to r + 1, are combined in memory of their own, and join the rest at the end. So rank order is kept.
//
// Example: P = 4, rank 1; a, b, c, d are what the ranks 0 to 3 contribute to its block; a message takes 1. a comes until 1 (a + b), d until
// 2, c until 3 (c + d). Then a + b and c + d are combined.
#include "collectives/combining/pairwise.hpp"
#include "collectives/reduce_scatter/reduce_scatter.hpp"

namespace rollcall::collectives {

Task reduce_scatter_pairwise(Operation& op) {
    const auto brought = [&](int rank) { return brought_for(op, rank); };
    co_await combine_pairwise(op, brought, op.arguments().data, 0);
}

}  // namespace rollcall::collectives
