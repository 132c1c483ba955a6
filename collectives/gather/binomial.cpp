// Binomial gather (BNOM). J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather operations", Cluster
// Computing 2020, section 2.1.
//
// Idea: this is the binomial scatter, run backwards. A rank that has collected the blocks of its subtree sends them on as one message. The
// longest path has ceil(log2 P) messages instead of P-1, and no more bytes enter the root than in a linear gather (equations 7 and 8).
// Ranks forward blocks, so a late rank delays all ranks whose blocks it waits for (equation 21).
//
// Example: P = 8, root 0, a block takes 1, all ranks arrive at 0. 1->0, 3->2, 5->4 and 7->6 until 1; 2->0 {2, 3} and 6->4 {6, 7} until 3;
// 4->0 {4, 5, 6, 7} until 7. The ranks leave at 7, 1, 3, 1, 7, 1, 3 and 1.
#include "collectives/gather/gather.hpp"
#include "collectives/gather/tree.hpp"
#include "collectives/segments/found_places.hpp"

namespace rollcall::collectives {

Task gather_binomial(Operation& op) {
    if (op.call().own_sizes) {
        // The receiver of a segment must first be told how large it is.
        SegmentPlace place;
        co_await binomial_gather_place(op, place);
        co_await gather_segments(op, place);
        co_return;
    }
    const Places places = places_by_rank(op);
    // A rank that forwards may collect before its caller comes.
    co_await gather_tree(op, places, !op.has_arrived());
}

std::uint64_t gather_binomial_collects(std::uint64_t bytes, int root, int rank, int ranks) {
    const int blocks = halving_blocks(ranks, root, rank);
    return blocks > 1 ? bytes * static_cast<std::uint64_t>(blocks) : 0;
}

}  // namespace rollcall::collectives
