// Sorted binomial gather (SBN). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather
// operations", Cluster Computing 2020, section 4.2, Figure 11.
//
// Idea: as binomial, but who comes early is a leaf and sends at once, and who comes late stands near the root, which waits
// for it last. The root decides the order and tells each rank its place, before its own caller arrives where that can be; the
// data waits for the callers. That the latest rank still has half of the blocks to collect when it comes is why this gains
// nothing by itself where one rank is late (equation 21).
//
// Example, P = 4, root 0, a block takes 1, arrivals 0, 0, 0, 5, all predicted: by position the ranks are 0 2 3 1. 2->0 until 1;
// 3 takes 1's from 5 to 6; 3->0 {3, 1} until 8; exits 8, 6, 1, 8.
#include "collectives/gather/gather.hpp"
#include "collectives/gather/tree.hpp"

namespace rollcall::collectives {

Task gather_sorted_binomial(Operation& op) { co_await gather_sorted_tree(op, false); }

}  // namespace rollcall::collectives
