// Scatter over the best ordered tree. J. L. Träff, "On Optimal Trees for Irregular Gather and Scatter Collectives", Parallel Computing
// 2018, section 3.2.
//
// Idea: this is the optimal gather, run backwards, and it takes the same time. The root finds the tree and sends it to all ranks, and then
// it sends the data.
//
// Example: P = 4, root 0, blocks of 1, 1, 40000 and 40000. The messages are 0->3, 0->2 and 0->1. In a binomial tree one of the long blocks
// would be sent twice. For four blocks of 1 the tree is binomial: 0->3, 0->1 and 3->2.
#include "collectives/scatter/scatter.hpp"
#include "collectives/segments/told_places.hpp"

namespace rollcall::collectives {

Task scatter_optimal(Operation& op) {
    std::shared_ptr<const SegmentPlace> place;
    co_await kept_place(op, &optimal_place, place);
    co_await scatter_segments(op, *place);
}

}  // namespace rollcall::collectives
