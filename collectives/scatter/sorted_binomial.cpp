// Sorted binomial scatter (SBN). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather operations",
// Cluster Computing 2020, section 4.1, Figure 7.
//
// Idea: as binomial, but an early rank is placed near the root and forwards the blocks of many ranks, while a late rank is a leaf and
// delays no other rank (equation 14). The root decides the order and tells each rank its place. Where possible, it does so before its own
// caller arrives; the data waits for that caller.
//
// Without a plan no rank can be told its place before it arrives, and telling would only add a message for each rank. Then the algorithm is
// binomial.
//
// Example: P = 8, root 0, a block takes 1, nothing lands early, rank 1 arrives at 9, the others at 0, all are predicted. By position the
// ranks are 0 5 3 7 2 6 4 1. 0->2 {2, 6, 4, 1} until 4; 0->3 {3, 7} and 2->4 {4, 1} until 6; 0->5, 3->7 and 2->6 until 7; 4->1 from 9 to
// 10.
#include "collectives/scatter/scatter.hpp"
#include "collectives/scatter/tree.hpp"

namespace rollcall::collectives {

Task scatter_sorted_binomial(Operation& op) { co_await scatter_sorted_tree(op, false); }

}  // namespace rollcall::collectives
