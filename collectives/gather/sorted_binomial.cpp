// Sorted binomial gather (SBN). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather operations",
// Cluster Computing 2020, section 4.2, Figure 11.
//
// Idea: as binomial, but an early rank is a leaf and sends at once, while a late rank is placed near the root, which waits for it last. The
// root decides the order and tells each rank its place. Where possible, it does so before its own caller arrives; the data waits for the
// callers. When the latest rank arrives, it still has half of the blocks to collect. Therefore this algorithm alone gains nothing where one
// rank is late (equation 21).
//
// Without a plan no rank can be told its place before it arrives, and telling would only add a message for each rank. Then the algorithm is
// binomial.
//
// Example: P = 4, root 0, a block takes 1, the ranks arrive at 0, 0, 0 and 5, all are predicted. By position the ranks are 0 2 3 1. 2->0
// until 1; 3 takes the block of 1 from 5 to 6; 3->0 {3, 1} until 8. The ranks leave at 8, 6, 1 and 8.
#include "collectives/gather/gather.hpp"
#include "collectives/gather/tree.hpp"

namespace rollcall::collectives {

Task gather_sorted_binomial(Operation& op) { co_await gather_sorted_tree(op, false); }

}  // namespace rollcall::collectives
