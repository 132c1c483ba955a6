/// \file
/// The allreduce algorithms, one file each. Arguments: `contribution`, this rank's elements; `data`, where the combined ones go (the
/// contribution may stand there); `combiner`. All ranks get the same bits. What does not commute is combined in rank order.
#pragma once

#include "collectives/algorithm.hpp"

namespace rollcall::collectives {

Task allreduce_recursive_doubling(Operation& op);
Task allreduce_ring(Operation& op);
Task allreduce_reduce_then_broadcast(Operation& op);
Task allreduce_shared_memory(Operation& op);

inline constexpr AlgorithmEntry kAllreduceAlgorithms[] = {
    {.operation = OperationKind::allreduce,
     .name = "recursive_doubling",
     .aliases = {"rd"},
     .algorithm = &allreduce_recursive_doubling,
     .summary = "log2 n exchanges of all elements between pairs of ranks",
     .paper = kThakur,
     .limits = "waits for all ranks, by its nature"},
    {.operation = OperationKind::allreduce,
     .name = "ring",
     .algorithm = &allreduce_ring,
     .summary = "a ring in which blocks are combined, and go round once more",
     .paper = "Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations",
     .limits = "waits for all ranks, by its nature",
     .needs = Condition::commutative},
    {.operation = OperationKind::allreduce,
     .name = "reduce_then_broadcast",
     .aliases = {"redbcast"},
     .algorithm = &allreduce_reduce_then_broadcast,
     .summary = "a binomial tree to rank 0, and back",
     .paper = kThakur,
     .limits = "waits for all ranks, by its nature"},
    {.operation = OperationKind::allreduce,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &allreduce_shared_memory,
     .summary = "each rank combines its block of what all have written into memory that the ranks of their node share",
     .paper = kNodeMemory,
     .limits = "waits for all ranks, by its nature",
     .needs = Condition::node_memory | Condition::whole_pieces},
};

inline constexpr Rule kAllreduceRules[] = {
    {kAnyBytes, kAnyRanks, named(kAllreduceAlgorithms, "shared_memory"),
     "ranks of one node: what each brings is copied into shared memory once, and combining is shared", Condition::node_memory},
    {16 << 10, kAnyRanks, named(kAllreduceAlgorithms, "recursive_doubling"), "short messages: log2 n steps, and no more"},
    {kAnyBytes, kAnyRanks, named(kAllreduceAlgorithms, "ring"),
     "long messages: each rank sends and receives twice the elements, however many ranks there are", Condition::commutative},
    {kAnyBytes, kAnyRanks, named(kAllreduceAlgorithms, "recursive_doubling"), "rank order is kept"},
};

}  // namespace rollcall::collectives
