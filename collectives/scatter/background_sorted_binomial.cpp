// Background sorted binomial scatter (BSBN). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather
// operations", Cluster Computing 2020, section 4.1, Figure 8.
//
// Idea: as sorted_binomial, but a rank whose call was planned receives and forwards blocks while its caller still computes. So a late rank
// delays no rank, not even itself (equation 15). Without a plan the algorithm is binomial, as sorted_binomial is.
//
// Example: P = 8, root 0, a block takes 1, rank 1 arrives at 9, the others at 0, all are planned and predicted. The messages are those of
// sorted_binomial, but 4->1 is sent from 6 to 7. Rank 1 leaves at 9, the others at 7.
#include "collectives/scatter/scatter.hpp"
#include "collectives/scatter/tree.hpp"

namespace rollcall::collectives {

Task scatter_background_sorted_binomial(Operation& op) { co_await scatter_sorted_tree(op, true); }

}  // namespace rollcall::collectives
