// Scatter over the best tree in the order of ranks or of sizes. It is our own, after J. L. Träff, "On Optimal Trees for Irregular Gather
// and Scatter Collectives", Parallel Computing 2018, section 3.2.
//
// Idea: this is the sorted optimal gather, run backwards, without arrivals. In a plan all ranks but the root receive and pass on before
// their callers arrive, so a late rank stops no other rank, and its arrival does not matter for the tree.
//
// Example: P = 5, root 1, blocks of 1, 40000, 1, 40000 and 1: in the order of sizes 1->4 with three blocks and 1->3, then 4->2 and 4->0.
#include "collectives/scatter/scatter.hpp"
#include "collectives/segments/told_places.hpp"

namespace rollcall::collectives {

Task scatter_sorted_optimal(Operation& op) {
    std::shared_ptr<const SegmentPlace> place;
    co_await kept_place(op, &sorted_optimal_place, place);
    co_await scatter_segments(op, *place);
}

}  // namespace rollcall::collectives
