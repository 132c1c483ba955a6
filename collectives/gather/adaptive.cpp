// Adaptive binomial gather. J. L. Träff, "On Optimal Trees for Irregular Gather and Scatter Collectives", Parallel Computing 2018, and the
// algorithm that it refers to (arXiv:1702.05967).
//
// Idea: as in a binomial tree, neighbouring segments of 1, 2, 4, ... ranks are merged. But the segment with less data is sent to the one
// with more. So large blocks do not move until the root needs them, and no rank waits for them. The ranks build the tree themselves in
// ceil(log2 P) rounds, and each knows only the size of its own block at first. Segments are received where they belong. Nothing is sent for
// empty blocks.
//
// Example: P = 4, root 0, blocks of 1, 1, 1 and 9. Round 1: 1->0 and 2->3, because 3 has more. Round 2: 3->0 with {2, 3}. In a halving
// tree, 3->2 would move the block of 9 once more.
#include "collectives/gather/gather.hpp"
#include "collectives/segments/found_places.hpp"
#include "collectives/segments/told_places.hpp"

namespace rollcall::collectives {

Task gather_adaptive(Operation& op) {
    std::shared_ptr<const SegmentPlace> place;
    co_await kept_place(op, &adaptive_place, place);
    co_await gather_segments(op, *place);
}

}  // namespace rollcall::collectives
