// Gather over two trees, one of small and one of large blocks. J. L. Träff, "On Optimal Trees for Irregular Gather and Scatter
// Collectives", Parallel Computing 2018, section 5.2 (TWO_Gatherv) and Lemma 2.
//
// Idea: where blocks have two sizes, the ranks with small blocks collect theirs in a tree of their own, while those with large blocks do
// the same. One message between the two roots ends it. So the small blocks, wherever their ranks stand, cost the large ones one message.
// The root finds where small ends and large begins, and tells each rank its place.
//
// Example: P = 5, root 1, blocks of 1, 40000, 1, 40000 and 1. 0->2 and 4->2, and at the same time 3->1; then 2->1. Two messages enter the
// root. In the best ordered tree three do, 2->1, 3->1 (after 4->3) and 0->1, because only neighbours are merged. If the
// root has a small block, it may be among the large ones, or large blocks go straight to it, so that they are not all sent twice.
#include "collectives/gather/gather.hpp"
#include "collectives/segments/told_places.hpp"

namespace rollcall::collectives {

Task gather_two_part(Operation& op) {
    std::shared_ptr<const SegmentPlace> place;
    co_await kept_place(op, &two_part_place, place);
    co_await gather_segments(op, *place);
}

}  // namespace rollcall::collectives
