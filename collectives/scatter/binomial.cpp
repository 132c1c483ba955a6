// Binomial scatter (BNOM). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather operations",
// Cluster Computing 2020, section 2.1.
//
// Idea: a rank that has blocks of other ranks sends half of them to one of those ranks, and goes on with the other half. The longest path
// has ceil(log2 P) messages instead of P-1, and no more bytes leave the root than in a linear scatter (equation 7). Ranks forward blocks,
// so a late rank delays all ranks whose blocks it has (equation 13).
//
// Example: P = 8, root 0, a block takes 1, all ranks arrive at 0. 0->4 {4, 5, 6, 7} until 4; 0->2 {2, 3} and 4->6 {6, 7} until 6; 0->1,
// 2->3, 4->5 and 6->7 until 7. All ranks leave at 7.
#include "collectives/scatter/scatter.hpp"
#include "collectives/scatter/tree.hpp"
#include "collectives/segments/found_places.hpp"

namespace rollcall::collectives {

Task scatter_binomial(Operation& op) {
    if (op.call().own_sizes) {
        // The receiver of a segment must first be told how large it is.
        SegmentPlace place;
        co_await binomial_scatter_place(op, place);
        co_await scatter_segments(op, place);
        co_return;
    }
    const Places places = places_by_rank(op);
    co_await scatter_tree(op, places);
}

std::uint64_t scatter_binomial_passes_on(std::uint64_t bytes, int root, int rank, const runtime::Group& group) {
    const HalvingPlace place = halving_place(group.size, root, rank);
    return rank == root || place.children.empty() ? 0 : bytes * static_cast<std::uint64_t>(place.blocks);
}

}  // namespace rollcall::collectives
