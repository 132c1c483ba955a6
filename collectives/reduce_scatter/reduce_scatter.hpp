/// \file
/// The reduce_scatter algorithms, one file each. Arguments: `contribution` holds a block for each rank, in rank order. `data` is the place
/// for this rank's block of the combined ones (it may be that block's place in the contribution). Also `combiner`. If the operation does
/// not commute, the elements are combined in rank order.
///
/// Notation of the files: P (or n) is the number of ranks. In the examples, a->b means that rank a sends to rank b, and "until t" means
/// that the transfer ends at time t. a <-> b means that the two exchange.
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/blocks/blocks.hpp"
#include "collectives/combining/combining.hpp"

namespace rollcall::collectives {

Task reduce_scatter_ring(Operation& op);
Task reduce_scatter_recursive_halving(Operation& op);
Task reduce_scatter_pairwise(Operation& op);
Task reduce_scatter_reduce_then_scatter(Operation& op);
Task reduce_scatter_shared_memory(Operation& op);
Task reduce_scatter_two_level(Operation& op);

/// What this rank contributes to the block of rank `rank`. (As a part of another algorithm, blocks may have sizes of their own. They then
/// stand one behind the other.)
inline transport::ConstBytes brought_for(const Operation& op, int rank) { return block_for(op, rank); }

inline constexpr AlgorithmEntry kReduceScatterAlgorithms[] = {
    {.operation = OperationKind::reduce_scatter,
     .name = "ring",
     .algorithm = &reduce_scatter_ring,
     .summary = "each block goes round a ring that ends at its rank, and is combined on its way",
     .paper = "Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations",
     .limits = "every rank waits for all ranks, as the operation demands",
     .needs = Condition::commutative,
     .cost = &cost::reduce_scatter_ring},
    {.operation = OperationKind::reduce_scatter,
     .name = "recursive_halving",
     .aliases = {"rh"},
     .algorithm = &reduce_scatter_recursive_halving,
     .summary = "pairs of ranks exchange blocks in log2 n steps, half as many in each step as in the step before",
     .paper = kThakur,
     .limits = "every rank waits for all ranks, as the operation demands",
     .needs = Condition::commutative,
     .cost = &cost::reduce_scatter_halving},
    {.operation = OperationKind::reduce_scatter,
     .name = "pairwise",
     .algorithm = &reduce_scatter_pairwise,
     .summary = "each rank sends each block to the rank that it is for, and that rank combines them",
     .paper = kThakur,
     .limits = "every rank waits for all ranks, as the operation demands",
     .cost = &cost::reduce_scatter_pairwise},
    {.operation = OperationKind::reduce_scatter,
     .name = "reduce_then_scatter",
     .aliases = {"redscat"},
     .algorithm = &reduce_scatter_reduce_then_scatter,
     .summary = "a reduce up a binomial tree to rank 0, then a scatter down a halving tree",
     .paper = kThakur,
     .limits = "every rank waits for all ranks, as the operation demands",
     .cost = &cost::reduce_scatter_reduce_then_scatter},
    {.operation = OperationKind::reduce_scatter,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &reduce_scatter_shared_memory,
     .summary = "each rank writes what others need into memory that the ranks of its node share, and combines its own block there",
     .paper = kNodeMemory,
     .limits = "every rank waits for all ranks, as the operation demands",
     .needs = Condition::node_memory | Condition::whole_pieces},
    {.operation = OperationKind::reduce_scatter,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &reduce_scatter_two_level,
     .summary = "each rank of a node combines a share of the blocks through its memory; the ranks with the same share exchange these "
                "between the nodes",
     .paper = kMultiLane,
     .limits = "every rank waits for all ranks, as the operation demands",
     .needs = Condition::several_nodes | Condition::commutative | Condition::whole_pieces,
     .cost = &cost::reduce_scatter_two_level},
};

inline constexpr Rule kReduceScatterRules[] = {
    {kAnyBytes, kAnyRanks, named(kReduceScatterAlgorithms, "shared_memory"),
     "on one node, each block is copied into shared memory once, and the rank that it is for combines it there", Condition::node_memory},
    {kAnyBytes,
     kAnyRanks,
     named(kReduceScatterAlgorithms, "two_level"),
     "several ranks a node: its ranks combine what leaves it, or fewer copies are made, and the lowest estimate decides",
     Condition::commutative | Condition::even_nodes,
     nullptr,
     {named(kReduceScatterAlgorithms, "recursive_halving"), named(kReduceScatterAlgorithms, "ring")}},
    {cost::kComparedShare,
     kAnyRanks,
     named(kReduceScatterAlgorithms, "recursive_halving"),
     "blocks that are not long: log2 n steps, or a ring's n - 1 of one block each, and the lowest estimate decides",
     Condition::commutative,
     nullptr,
     {named(kReduceScatterAlgorithms, "ring")}},
    {kAnyBytes, kAnyRanks, named(kReduceScatterAlgorithms, "ring"),
     "long blocks: each rank sends and receives n - 1 blocks, and no algorithm needs fewer", Condition::commutative},
    {kAnyBytes,
     kAnyRanks,
     named(kReduceScatterAlgorithms, "pairwise"),
     "the operation does not commute, so rank order is kept: each rank sends to all others, or one rank of a node sends for all, and the "
     "lowest estimate decides",
     {},
     nullptr,
     {named(kReduceScatterAlgorithms, "reduce_then_scatter")}},
};

}  // namespace rollcall::collectives
