// Scatter over two trees, one of small and one of large blocks. J. L. Träff, "On Optimal Trees for Irregular Gather and Scatter
// Collectives", Parallel Computing 2018, section 5.2 (TWO_Scatterv) and Lemma 2.
//
// Idea: this is the two-part gather, run backwards. The root sends one message with all small blocks, or all large ones, to the root of the
// other tree. Then both trees work at the same time.
//
// Example: P = 5, root 1, blocks of 1, 40000, 1, 40000 and 1. 1->2 with three blocks, then 1->3, and at the same time 2->4 and 2->0. Two
// messages leave the root. In the best ordered tree three do.
#include "collectives/scatter/scatter.hpp"
#include "collectives/segments/told_places.hpp"

namespace rollcall::collectives {

Task scatter_two_part(Operation& op) {
    std::shared_ptr<const SegmentPlace> place;
    co_await kept_place(op, &two_part_place, place);
    co_await scatter_segments(op, *place);
}

}  // namespace rollcall::collectives
