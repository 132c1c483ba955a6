// Binomial scatter (BNOM). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather
// operations", Cluster Computing 2020, section 2.1.
//
// Idea: whoever has blocks of others sends half of them to one of those ranks, and goes on with the other half: ceil(log2 P)
// messages on the longest way instead of P-1, while no more bytes leave the root (equation 7). Ranks forward, so one that is
// late delays all whose blocks it has (equation 13).
//
// Example, P = 8, root 0, a block takes 1, all arrive at 0: 0->4 {4, 5, 6, 7} until 4; 0->2 {2, 3} and 4->6 {6, 7} until 6;
// 0->1, 2->3, 4->5 and 6->7 until 7; all leave at 7.
#include "collectives/scatter/scatter.hpp"
#include "collectives/scatter/tree.hpp"
#include "collectives/segment_places.hpp"

namespace rollcall::collectives {

Task scatter_binomial(Operation& op) {
    if (op.call().own_sizes) {
        // Who receives a segment must be told first how large it is.
        SegmentPlace place;
        co_await binomial_scatter_place(op, place);
        co_await scatter_segments(op, place);
        co_return;
    }
    const Places places = places_by_rank(op);
    co_await scatter_tree(op, places);
}

}  // namespace rollcall::collectives
