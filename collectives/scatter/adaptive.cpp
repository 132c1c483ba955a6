// Adaptive binomial scatter. J. L. Träff, "On Optimal Trees for Irregular Gather and Scatter Collectives", Parallel Computing 2018, and the
// algorithm that it refers to (arXiv:1702.05967).
//
// Idea: the adaptive gather backwards. The same tree, in which a rank with a large block stands near the root, is built by its own ranks
// in ceil(log2 P) rounds; then the root sends, and each rank passes on what is not its own, the last merged segment first.
//
// Example, P = 4, root 0, blocks of 1, 1, 1 and 9: 0->3 with {2, 3}, then 0->1 and 3->2. In a halving tree the 9 would go to 2 first.
#include "collectives/scatter/scatter.hpp"
#include "collectives/segment_places.hpp"

namespace rollcall::collectives {

Task scatter_adaptive(Operation& op) {
    SegmentPlace place;
    co_await adaptive_place(op, place);
    co_await scatter_segments(op, place);
}

}  // namespace rollcall::collectives
