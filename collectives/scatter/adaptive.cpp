// Adaptive binomial scatter. J. L. Träff, "On Optimal Trees for Irregular Gather and Scatter Collectives", Parallel Computing 2018, and the
// algorithm that it refers to (arXiv:1702.05967).
//
// Idea: this is the adaptive gather, run backwards. The ranks build the same tree themselves in ceil(log2 P) rounds; in it, a rank with a
// large block is near the root. Then the root sends, and each rank passes on the blocks that are not its own, in the opposite order of the
// merging: the segment that was merged last is sent first.
//
// Example: P = 4, root 0, blocks of 1, 1, 1 and 9. The messages are 0->3 with {2, 3}, then 0->1 and 3->2. In a halving tree the block of 9
// would go to rank 2 first.
#include "collectives/scatter/scatter.hpp"
#include "collectives/segments/found_places.hpp"
#include "collectives/segments/told_places.hpp"

namespace rollcall::collectives {

Task scatter_adaptive(Operation& op) {
    std::shared_ptr<const SegmentPlace> place;
    co_await kept_place(op, &adaptive_place, place);
    co_await scatter_segments(op, *place);
}

}  // namespace rollcall::collectives
