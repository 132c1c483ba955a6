// Reduce, then broadcast. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH",
// International Journal of High Performance Computing Applications 2005, section 4.5, compare others with it.
//
// Idea: the elements of all ranks are combined, in rank order, up a binomial tree with root 0, and the result goes down the same tree. The
// longest path has 2 log2 P messages with all elements. But there are only 2 (P - 1) messages in all, where recursive doubling needs P log2
// P.
//
// Example: P = 4, a message takes 1, all ranks arrive at 0. 1->0 and 3->2 until 1; 2->0 until 2; 0->2 until 3; 0->1 and 2->3 until 4.
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/combining/combining.hpp"
#include "collectives/relay.hpp"
#include "collectives/trees/binomial.hpp"

namespace rollcall::collectives {

Task allreduce_reduce_then_broadcast(Operation& op) {
    constexpr std::uint64_t kUp = 0, kDown = 1;
    const auto data = op.arguments().data;
    co_await combine_up_tree(op, 0, data, kUp);
    TreePlace place = binomial_tree(op.size(), 0, op.rank());
    co_await relay(op, data, place.parent, std::move(place.children), 0, kDown);
}

}  // namespace rollcall::collectives
