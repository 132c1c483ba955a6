// Background sorted binomial gather (BSBN). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather
// operations", Cluster Computing 2020, section 4.2, Figure 12.
//
// Idea: as sorted_binomial, but a rank whose call was planned collects the blocks of its subtree while its caller still computes. So a late
// rank has only one message left to send, with half of the blocks (equation 22), and a late root has none left to receive (equation 24).
//
// Example: P = 4, root 0, a block takes 1, the ranks arrive at 0, 0, 0 and 5, all are planned and predicted. By position the ranks are 0 2
// 3 1. 2->0 and 1->3 until 1; 3->0 {3, 1} from 5 to 7. The ranks leave at 7, 1, 1 and 7.
#include "collectives/gather/gather.hpp"
#include "collectives/gather/tree.hpp"

namespace rollcall::collectives {

Task gather_background_sorted_binomial(Operation& op) { co_await gather_sorted_tree(op, true); }

}  // namespace rollcall::collectives
