// Gather over the best ordered tree. J. L. Träff, "On Optimal Trees for Irregular Gather and Scatter Collectives", Parallel Computing 2018,
// section 3.2.
//
// Idea: the root, which knows all sizes, finds by dynamic programming the tree that takes least in a network where a message costs as much
// as some thousand bytes, and sends it to all ranks. A block that is too large for any tree comes straight to the root.
//
// Example, P = 4, root 0, blocks of 1, 1, 40000 and 40000: 1->0, 2->0, 3->0, three messages and the data. In a binomial tree one of the
// long blocks would be sent twice. Four blocks of 1: a binomial tree, 1->0, 2->3, 3->0.
#include "collectives/gather/gather.hpp"
#include "collectives/segment_places.hpp"

namespace rollcall::collectives {

Task gather_optimal(Operation& op) {
    SegmentPlace place;
    co_await optimal_place(op, place);
    co_await gather_segments(op, place);
}

}  // namespace rollcall::collectives
