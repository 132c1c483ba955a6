/// \file
/// The reduce_scatter algorithms, one file each. Arguments: `contribution` holds a block for each rank, in rank order. `data` is the place
/// for this rank's block of the combined ones (it may be that block's place in the contribution). Also `combiner`. If the operation does
/// not commute, the elements are combined in rank order.
///
/// Notation of the files: P (or n) is the number of ranks. In the examples, a->b means that rank a sends to rank b, and "until t" means
/// that the transfer ends at time t. a <-> b means that the two exchange.
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/combining/combining.hpp"

namespace rollcall::collectives {

Task reduce_scatter_ring(Operation& op);
Task reduce_scatter_recursive_halving(Operation& op);
Task reduce_scatter_pairwise(Operation& op);
Task reduce_scatter_reduce_then_scatter(Operation& op);
Task reduce_scatter_shared_memory(Operation& op);

/// What this rank contributes to the block of rank `rank`.
inline transport::ConstBytes brought_for(const Operation& op, int rank) {
    const std::uint64_t bytes = op.call().bytes;
    return runtime::slice(op.arguments().contribution, static_cast<std::uint64_t>(rank) * bytes, bytes);
}

inline constexpr AlgorithmEntry kReduceScatterAlgorithms[] = {
    {.operation = OperationKind::reduce_scatter,
     .name = "ring",
     .algorithm = &reduce_scatter_ring,
     .summary = "each block goes round a ring that ends at its rank, and is combined on its way",
     .paper = "Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations",
     .limits = "waits for all ranks, by its nature",
     .needs = Condition::commutative},
    {.operation = OperationKind::reduce_scatter,
     .name = "recursive_halving",
     .aliases = {"rh"},
     .algorithm = &reduce_scatter_recursive_halving,
     .summary = "log2 n exchanges between pairs of ranks, of half as many blocks each time",
     .paper = kThakur,
     .limits = "waits for all ranks, by its nature",
     .needs = Condition::commutative},
    {.operation = OperationKind::reduce_scatter,
     .name = "pairwise",
     .algorithm = &reduce_scatter_pairwise,
     .summary = "each rank sends each block to the rank that it is for, which combines them",
     .paper = kThakur,
     .limits = "waits for all ranks, by its nature"},
    {.operation = OperationKind::reduce_scatter,
     .name = "reduce_then_scatter",
     .aliases = {"redscat"},
     .algorithm = &reduce_scatter_reduce_then_scatter,
     .summary = "a binomial tree to rank 0, and a halving tree back",
     .paper = kThakur,
     .limits = "waits for all ranks, by its nature"},
    {.operation = OperationKind::reduce_scatter,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &reduce_scatter_shared_memory,
     .summary = "each rank writes the blocks of others into memory that the ranks of their node share, and combines its own there",
     .paper = kNodeMemory,
     .limits = "waits for all ranks, by its nature",
     .needs = Condition::node_memory | Condition::whole_pieces},
};

inline constexpr Rule kReduceScatterRules[] = {
    {kAnyBytes, kAnyRanks, named(kReduceScatterAlgorithms, "shared_memory"),
     "ranks of one node: each block that a rank brings is copied into shared memory once, and combined there by the rank that it is for",
     Condition::node_memory},
    {2048, kAnyRanks, named(kReduceScatterAlgorithms, "recursive_halving"), "short blocks: log2 n steps, and no more",
     Condition::commutative},
    {kAnyBytes, kAnyRanks, named(kReduceScatterAlgorithms, "ring"),
     "long blocks: each rank sends and receives one block less than there are ranks, whatever their number", Condition::commutative},
    {256, kAnyRanks, named(kReduceScatterAlgorithms, "reduce_then_scatter"),
     "short blocks in rank order: 2 log2 n messages one after the other"},
    {kAnyBytes, kAnyRanks, named(kReduceScatterAlgorithms, "pairwise"), "rank order is kept, and each block moves once"},
};

}  // namespace rollcall::collectives
