/// \file
/// The allreduce algorithms, one file each. Arguments: `contribution` holds this rank's elements. `data` is the place for the combined
/// elements (the contribution may be there already). Also `combiner`. All ranks get the same bits. If the operation does not commute, the
/// elements are combined in rank order.
///
/// Notation of the files: P (or n) is the number of ranks. a, b, c, ... are the elements of ranks 0, 1, 2, ... In the examples, a->b means
/// that rank a sends to rank b, and "until t" means that the transfer ends at time t. a <-> b means that the two exchange.
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {

Task allreduce_recursive_doubling(Operation& op);
Task allreduce_ring(Operation& op);
Task allreduce_rabenseifner(Operation& op);
Task allreduce_reduce_then_broadcast(Operation& op);
Task allreduce_pairwise(Operation& op);
Task allreduce_shared_memory(Operation& op);
runtime::ShortMove short_move_of_allreduce(const runtime::Arguments& arguments, const runtime::Call& call, int rank, int ranks);
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
     .summary = "pairs of ranks exchange all elements, in log2 n steps",
     .paper = kThakur,
     .limits = "every rank waits for all ranks, as the operation demands",
     .cost = &cost::allreduce_recursive_doubling},
    {.operation = OperationKind::allreduce,
     .name = "ring",
     .algorithm = &allreduce_ring,
     .summary = "blocks are combined round a ring, then go round it once more",
     .paper = "Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations",
     .limits = "every rank waits for all ranks, as the operation demands",
     .needs = Condition::commutative,
     .cost = &cost::allreduce_ring},
    {.operation = OperationKind::allreduce,
     .name = "rabenseifner",
     .aliases = {"rab"},
     .algorithm = &allreduce_rabenseifner,
     .summary = "a reduce_scatter by recursive halving, then an allgather by recursive doubling",
     .paper = kThakur,
     .limits = "every rank waits for all ranks, as the operation demands",
     .needs = Condition::commutative,
     .cost = &cost::allreduce_rabenseifner},
    {.operation = OperationKind::allreduce,
     .name = "reduce_then_broadcast",
     .aliases = {"redbcast"},
     .algorithm = &allreduce_reduce_then_broadcast,
     .summary = "a reduce up a binomial tree to rank 0, then a broadcast down the same tree",
     .paper = kThakur,
     .limits = "every rank waits for all ranks, as the operation demands",
     .cost = &cost::allreduce_reduce_then_broadcast},
    {.operation = OperationKind::allreduce,
     .name = "pairwise",
     .algorithm = &allreduce_pairwise,
     .summary = "each rank combines a share of the elements, which all others send it, in rank order; then the shares go round a ring",
     .paper = kThakur,
     .limits = "every rank waits for all ranks, as the operation demands",
     .cost = &cost::allreduce_pairwise},
    {.operation = OperationKind::allreduce,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &allreduce_shared_memory,
     .summary = "all ranks write into memory that the ranks of their node share, and each combines one share of it",
     .paper = kNodeMemory,
     .limits = "every rank waits for all ranks, as the operation demands",
     .needs = Condition::node_memory | Condition::whole_pieces,
     .short_move = &short_move_of_allreduce},
    {.operation = OperationKind::allreduce,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &allreduce_two_level,
     .summary = "each rank of a node combines a share; the ranks that have the same share combine it between the nodes",
     .paper = kMultiLane,
     .limits = "every rank waits for all ranks, as the operation demands",
     .needs = Condition::several_nodes | Condition::commutative | Condition::whole_pieces},
    {.operation = OperationKind::allreduce,
     .name = "sorted_linear_tree",
     .aliases = {"slt"},
     .algorithm = &allreduce_sorted_linear_tree,
     .summary = "a chain of ranks in their expected order; pieces go down it once to be combined, and once more with the result",
     .paper = kProficzAllreduce,
     .limits = "meant for planned calls, in which rank 0 can tell all ranks the times before they arrive; it sends n numbers to each of n "
               "ranks, which takes longer than it saves if they are many hundreds",
     .segmented = true,
     .needs = Condition::commutative | Condition::any_order,
     .begins_early = true},
    {.operation = OperationKind::allreduce,
     .name = "pre_reduced_ring",
     .aliases = {"prr"},
     .algorithm = &allreduce_pre_reduced_ring,
     .summary = "a ring of the ranks in their expected order; a rank that arrives early sends some blocks ahead",
     .paper = kProficzAllreduce,
     .limits = "meant for planned calls, in which rank 0 can tell all ranks the times before they arrive; it sends n numbers to each of n "
               "ranks, which takes longer than it saves if they are many hundreds",
     .needs = Condition::commutative | Condition::any_order,
     .begins_early = true},
    {.operation = OperationKind::allreduce,
     .name = "straggler",
     .algorithm = &allreduce_straggler,
     .summary = "all but the ranks that are expected last reduce their elements before these come; a ring where that would take longer",
     .paper = "Devraj et al.: Accelerating AllReduce with a Persistent Straggler",
     .limits =
         "meant for planned calls, in which rank 0 can tell all ranks the times before they arrive; with more than 64 ranks it is a ring",
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
     .limits =
         "meant for planned calls, in which rank 0 can tell all ranks the times before they arrive; with more than 64 ranks it is a ring",
     .segmented = true,
     .needs = Condition::commutative | Condition::any_order,
     .begins_early = true},
};

inline constexpr Rule kAllreduceRules[] = {
    {kAnyBytes, kAnyRanks, named(kAllreduceAlgorithms, "shared_memory"),
     "on one node, each rank copies its elements into shared memory once, and the ranks share the combining", Condition::node_memory},
    {kOneLaneOfAll, kAnyRanks, named(kAllreduceAlgorithms, "two_level"),
     "several ranks a node: one or a few of them combine through the memory of their node, and what leaves a node is as long as one rank's "
     "elements",
     Condition::commutative},
    // As many ranks of each node combine as the smallest node has.
    {kAnyBytes, kAnyRanks, named(kAllreduceAlgorithms, "two_level"),
     "several ranks a node: each combines a share through the memory of its node, and what leaves a node is as long as one rank's elements",
     Condition::commutative | Condition::even_nodes},
    {64 << 10, 2, named(kAllreduceAlgorithms, "recursive_doubling"), "two ranks: one step"},
    {8 << 10, 3, named(kAllreduceAlgorithms, "recursive_doubling"), "short, and few ranks: three steps"},
    {128 << 10, 2, named(kAllreduceAlgorithms, "ring"), "two ranks: a ring's two steps of a half, and each combines only a half",
     Condition::commutative},
    {128 << 10, 3, named(kAllreduceAlgorithms, "ring"), "three ranks: a ring's four steps of a third, and not three steps of all elements",
     Condition::commutative},
    {64 << 10, 3, named(kAllreduceAlgorithms, "pairwise"),
     "three ranks, in rank order: four steps of a third, and not three steps of all elements"},
    {64 << 10, 4, named(kAllreduceAlgorithms, "recursive_doubling"), "not long, and few ranks: log2 n steps, and no more"},
    {128 << 10, 4, named(kAllreduceAlgorithms, "ring"), "so few ranks that the number of a ring's steps does not count",
     Condition::commutative},
    {128 << 10,
     kAnyRanks,
     named(kAllreduceAlgorithms, "recursive_doubling"),
     "log2 n steps of all elements, 2 log2 n steps of fewer, or a ring's 2 (n - 1) of fewest, and the lowest estimate decides",
     Condition::commutative,
     nullptr,
     {named(kAllreduceAlgorithms, "rabenseifner"), named(kAllreduceAlgorithms, "ring")}},
    {kAnyBytes, 16, named(kAllreduceAlgorithms, "ring"), "long messages, and few ranks: each sends and receives the elements only twice",
     Condition::commutative},
    {kAnyBytes,
     kAnyRanks,
     named(kAllreduceAlgorithms, "rabenseifner"),
     "many ranks: what each sends in a ring's 2 (n - 1) steps is not long, 2 log2 n steps are fewer, and the lowest estimate decides",
     Condition::commutative,
     nullptr,
     {named(kAllreduceAlgorithms, "ring")},
     cost::kComparedShare},
    // By the estimates a ring is never faster than rabenseifner if n is a power of two. Long messages have shown the opposite (1 MiB, 16
    // ranks on 4 hosts: 24 ms, rabenseifner 70), because a ring's neighbours are near.
    {kAnyBytes, kAnyRanks, named(kAllreduceAlgorithms, "ring"),
     "long messages, also by the rank: each sends and receives the elements only twice", Condition::commutative},
    {kAnyBytes,
     kAnyRanks,
     named(kAllreduceAlgorithms, "recursive_doubling"),
     "the operation does not commute, so rank order is kept: log2 n steps of all elements, twice as many in which one rank of a node "
     "sends, or 2 (n - 1) of fewest elements, and the lowest estimate decides",
     {},
     nullptr,
     {named(kAllreduceAlgorithms, "reduce_then_broadcast"), named(kAllreduceAlgorithms, "pairwise")}},
};

}  // namespace rollcall::collectives
