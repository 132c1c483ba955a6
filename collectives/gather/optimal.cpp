// Gather over the best ordered tree. J. L. Träff, "On Optimal Trees for Irregular Gather and Scatter Collectives", Parallel Computing 2018,
// section 3.2.
//
// Idea: the root knows all sizes. By dynamic programming it finds the tree that takes the least time in a network where a message costs as
// much as some thousand bytes. It tells each rank its place. A block that is too large for any tree goes straight to the root.
//
// Example: P = 4, root 0, blocks of 1, 1, 40000 and 40000. The messages are 1->0, 2->0 and 3->0: three messages and the data. In a binomial
// tree one of the long blocks would be sent twice. For four blocks of 1 the tree is binomial: 1->0, 2->3, 3->0.
#include "collectives/gather/gather.hpp"
#include "collectives/segments/told_places.hpp"

namespace rollcall::collectives {

Task gather_optimal(Operation& op) {
    std::shared_ptr<const SegmentPlace> place;
    co_await kept_place(op, &optimal_place, place);
    co_await gather_segments(op, *place);
}

}  // namespace rollcall::collectives
