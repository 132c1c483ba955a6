// Gather over the best tree in the order of ranks, of sizes or of arrivals. It is our own, after J. L. Träff, "On Optimal Trees for
// Irregular Gather and Scatter Collectives", Parallel Computing 2018, section 3.2, and J. Proficz's sorted trees.
//
// Idea: the dynamic program of the optimal gather finds the best tree for any order of the ranks, and takes times of arrival as it takes
// sizes: a rank alone is ready when it arrives. In a plan the root knows the predicted arrivals. It finds the best tree for each order,
// tells the ranks the best of all, and collects before its caller arrives. Blocks that are not in the order of ranks cost the root a copy.
//
// Example: P = 5, root 1, blocks of 1, 40000, 1, 40000 and 1: in the order of sizes 0->4 and 2->4, then 3->1 and 4->1. Two messages enter
// the root, as with two_part; in the order of ranks three do. Blocks of 1, root 0, all planned, rank 1 predicted to be late: 2->0 and 3->4,
// then 4->0, and at last 1->0. In the order of ranks nothing could pass it.
#include "collectives/gather/gather.hpp"
#include "collectives/segments/told_places.hpp"

namespace rollcall::collectives {

Task gather_sorted_optimal(Operation& op) {
    SegmentPlace place;
    co_await sorted_optimal_place(op, place);
    co_await gather_segments(op, place);
}

Task gather_sorted_optimal_planned(Operation& op) {
    SegmentPlace place;
    co_await predicted_place(op, place);
    co_await gather_segments(op, place);
}

}  // namespace rollcall::collectives
