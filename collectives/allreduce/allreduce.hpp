/// \file
/// The allreduce algorithms, one file each. Arguments: `contribution` holds this rank's elements. `data` is the place for the combined
/// elements (the contribution may be there already). Also `combiner`. All ranks get the same bits. If the operation does not commute, the
/// elements are combined in rank order.
///
/// Notation of the files: P (or n) is the number of ranks. a, b, c, ... are the elements of ranks 0, 1, 2, ... In the examples, a->b means
/// that rank a sends to rank b, and "until t" means that the transfer ends at time t. a <-> b means that the two exchange.
#pragma once

#include "collectives/algorithm.hpp"

namespace rollcall::collectives {

Task allreduce_recursive_doubling(Operation& op);
Task allreduce_ring(Operation& op);
Task allreduce_rabenseifner(Operation& op);
Task allreduce_reduce_then_broadcast(Operation& op);
Task allreduce_shared_memory(Operation& op);
Task allreduce_two_level(Operation& op);
Task allreduce_sorted_linear_tree(Operation& op);
Task allreduce_pre_reduced_ring(Operation& op);
Task allreduce_straggler(Operation& op);
Task allreduce_clairvoyant(Operation& op);

inline constexpr std::string_view kProficzAllreduce =
    "Proficz: Improving all-reduce collective operations for imbalanced process arrival patterns";

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
     .name = "rabenseifner",
     .aliases = {"rab"},
     .algorithm = &allreduce_rabenseifner,
     .summary = "a reduce_scatter by halving, and an allgather by doubling",
     .paper = kThakur,
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
    {.operation = OperationKind::allreduce,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &allreduce_two_level,
     .summary = "the ranks of a node combine a share each, and the ranks that have the same share combine it between the nodes",
     .paper = kMultiLane,
     .limits = "waits for all ranks, by its nature",
     .needs = Condition::several_nodes | Condition::commutative | Condition::whole_pieces},
    {.operation = OperationKind::allreduce,
     .name = "sorted_linear_tree",
     .aliases = {"slt"},
     .algorithm = &allreduce_sorted_linear_tree,
     .summary = "a chain of ranks in the order in which they are expected, down which pieces go twice",
     .paper = kProficzAllreduce,
     .limits = "rank 0 tells all ranks the times: for planned calls, where that is done before they arrive",
     .segmented = true,
     .needs = Condition::commutative | Condition::any_order,
     .begins_early = true},
    {.operation = OperationKind::allreduce,
     .name = "pre_reduced_ring",
     .aliases = {"prr"},
     .algorithm = &allreduce_pre_reduced_ring,
     .summary = "a ring in the order in which ranks are expected; who comes early sends some blocks ahead",
     .paper = kProficzAllreduce,
     .limits = "rank 0 tells all ranks the times: for planned calls, where that is done before they arrive",
     .needs = Condition::commutative | Condition::any_order,
     .begins_early = true},
    {.operation = OperationKind::allreduce,
     .name = "straggler",
     .algorithm = &allreduce_straggler,
     .summary = "all but the ranks that are expected last reduce their elements before these come; a ring where that would take longer",
     .paper = "Devraj et al.: Accelerating AllReduce with a Persistent Straggler",
     .limits = "rank 0 tells all ranks the times: for planned calls, where that is done before they arrive; beyond 64 ranks a ring",
     .needs = Condition::commutative | Condition::any_order,
     .begins_early = true},
    {.operation = OperationKind::allreduce,
     .name = "clairvoyant",
     .aliases = {"clv"},
     .algorithm = &allreduce_clairvoyant,
     .summary =
         "a schedule for the times at which ranks are expected: a reduction to the first one, whose complete pieces spread meanwhile, or "
         "`straggler` where that is expected to end earlier",
     .paper = "Proficz, Ocetkiewicz: Improving Clairvoyant: reduction algorithm resilient to imbalanced process arrival patterns",
     .limits = "rank 0 tells all ranks the times: for planned calls, where that is done before they arrive",
     .segmented = true,
     .needs = Condition::commutative | Condition::any_order,
     .begins_early = true},
};

inline constexpr Rule kAllreduceRules[] = {
    {kAnyBytes, kAnyRanks, named(kAllreduceAlgorithms, "shared_memory"),
     "ranks of one node: what each brings is copied into shared memory once, and combining is shared", Condition::node_memory},
    {kAnyBytes, kAnyRanks, named(kAllreduceAlgorithms, "two_level"),
     "several ranks a node: each combines a share through the memory of its node, and what leaves a node is as long as one rank's elements",
     Condition::commutative},
    {8 << 10, kAnyRanks, named(kAllreduceAlgorithms, "recursive_doubling"), "short messages: log2 n steps, and no more"},
    {128 << 10, 4, named(kAllreduceAlgorithms, "ring"), "so few ranks that the number of a ring's steps does not count",
     Condition::commutative},
    {128 << 10, kAnyRanks, named(kAllreduceAlgorithms, "rabenseifner"),
     "2 log2 n steps instead of a ring's 2 n, which counts until there are long messages (64 KiB, 16 hosts at 1 Gbit/s: 2.8 ms, a ring "
     "4.7)",
     Condition::commutative},
    {kAnyBytes, kAnyRanks, named(kAllreduceAlgorithms, "ring"),
     "long messages: each rank sends and receives twice the elements, however many ranks there are", Condition::commutative},
    {kAnyBytes, kAnyRanks, named(kAllreduceAlgorithms, "recursive_doubling"), "rank order is kept"},
};

}  // namespace rollcall::collectives
