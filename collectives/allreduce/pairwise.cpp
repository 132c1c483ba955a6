// Pairwise exchange, then a ring. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH",
// International Journal of High Performance Computing Applications 2005, describe both halves. In section 4.5 they make an allreduce of a
// reduce_scatter and an allgather.
//
// Idea: each rank sends each other rank that rank's share of the elements, and combines what comes for its own share, in rank order. Then
// the complete shares go round a ring. In these 2 (P - 1) steps each rank sends and receives 2 (P - 1) / P of the elements, as in a ring
// allreduce, which does not keep rank order.
//
// Example: P = 3, all elements take 3, full duplex, shares A, B, C; those of rank r are Ar, Br, Cr. Until 1: 0->1 B0, 1->2 C1, 2->0 A2.
// Until 2: 0->2 C0, 1->0 A1, 2->1 B2. Now 0 has A0+(A1+A2), 1 has (B0+B1)+B2 and 2 has C0+(C1+C2). These go round the ring until 4.
#include "collectives/combining/pairwise.hpp"
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/combining/combining.hpp"

namespace rollcall::collectives {

Task allreduce_pairwise(Operation& op) {
    constexpr std::uint64_t kShares = 0, kRing = 1;
    const auto data = op.arguments().data;
    const Parts shares = even_parts(op, op.size());
    const auto brought = [&](int rank) { return parts_of(op.arguments().contribution, shares, rank, rank); };
    co_await combine_pairwise(op, brought, parts_of(data, shares, op.rank(), op.rank()), kShares);
    co_await gather_all_in_ring(op, Members{.size = op.size()}, op.rank(), shares, data, kRing);
}

}  // namespace rollcall::collectives
