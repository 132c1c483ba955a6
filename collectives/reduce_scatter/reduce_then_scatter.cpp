// Reduce, then scatter. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH",
// International Journal of High Performance Computing Applications 2005, the section on reduce-scatter, compare others with it.
//
// Idea: the vectors are combined, in rank order, up a binomial tree with root 0, and the blocks go down a halving tree. The whole vector is
// sent log2 P times on the way up, and (P - 1) / P of it on the way down.
//
// Example: P = 4, a block takes 1, all ranks arrive at 0. 1->0 and 3->2 send the vector until 4, 2->0 until 8; 0->2 {2, 3} until 10; 0->1
// and 2->3 until 11.
#include "collectives/reduce_scatter/reduce_scatter.hpp"
#include "collectives/scatter/tree.hpp"

namespace rollcall::collectives {

Task reduce_scatter_reduce_then_scatter(Operation& op) {
    constexpr std::uint64_t kUp = 0, kDown = 1;
    const auto contribution = op.arguments().contribution;
    const auto data = op.arguments().data;
    if (op.size() == 1) {
        co_await copy_own(op, data, contribution);
        co_return;
    }
    const Scratch combined(op.rank() == 0 ? contribution.size : 0, contribution);
    co_await combine_up_tree(op, 0, combined.bytes(), kUp);
    const Places places = places_by_rank(op, 0);
    co_await scatter_tree(op, places, combined.bytes(), data, kDown);
}

}  // namespace rollcall::collectives
