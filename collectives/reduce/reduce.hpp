/// \file
/// The reduce algorithms, one file each. Arguments: on every rank, `contribution` holds its elements. At the root, `data` is the place for
/// the combined elements (the root's contribution may be there already). Also `combiner` and `segment_bytes`. If the operation does not
/// commute, the elements are combined in rank order. Some algorithms cannot do that; they state that they need operands that commute.
///
/// Notation of the files: P (or n) is the number of ranks. a, b, c, ... are the elements of ranks 0, 1, 2, ... In the examples, a->b means
/// that rank a sends to rank b, and "until t" means that the transfer ends at time t. a <-> b means that the two exchange.
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives {

Task reduce_linear(Operation& op);
Task reduce_binomial(Operation& op);
Task reduce_pipelined(Operation& op);
Task reduce_rabenseifner(Operation& op);
Task reduce_ring(Operation& op);
Task reduce_radix_k(Operation& op);
Task reduce_shared_memory(Operation& op);
Task reduce_two_level(Operation& op);
Task reduce_clairvoyant(Operation& op);
/// Twice the message, if the rank has ranks below it (AlgorithmEntry::collects).
std::uint64_t reduce_binomial_collects(std::uint64_t bytes, int root, int rank, int ranks);
/// Needs `arguments().oracle`, the arrival times of all ranks. For simulations only.
Task reduce_near_optimal(Operation& op);

inline constexpr AlgorithmEntry kReduceAlgorithms[] = {
    {.operation = OperationKind::reduce,
     .name = "linear",
     .aliases = {"lin"},
     .algorithm = &reduce_linear,
     .summary = "the root receives from each rank in turn, and combines",
     .runs_alone = true},
    {.operation = OperationKind::reduce,
     .name = "binomial",
     .aliases = {"bnom"},
     .algorithm = &reduce_binomial,
     .summary = "binomial tree: who has combined what its subtree brings sends it on",
     .paper = kThakur,
     .runs_alone = true,
     .collects = &reduce_binomial_collects},
    {.operation = OperationKind::reduce,
     .name = "pipelined",
     .aliases = {"chain"},
     .algorithm = &reduce_pipelined,
     .summary = "a chain of ranks that combine pieces and pass them on",
     .paper = kPatarasukYuan,
     .segmented = true,
     .runs_alone = true},
    {.operation = OperationKind::reduce,
     .name = "rabenseifner",
     .aliases = {"rab"},
     .algorithm = &reduce_rabenseifner,
     .summary = "a reduce_scatter by halving, and a gather up a binomial tree",
     .paper = kThakur,
     .limits = "waits for ranks that it exchanges with, though they only contribute",
     .needs = Condition::commutative},
    {.operation = OperationKind::reduce,
     .name = "ring",
     .algorithm = &reduce_ring,
     .summary = "a ring in which blocks are combined, and a gather up a binomial tree",
     .paper = "Barnett, Littlefield, Payne, van de Geijn: On the efficiency of global combine algorithms for 2-D meshes",
     .limits = "waits for all ranks, by its nature",
     .needs = Condition::commutative},
    {.operation = OperationKind::reduce,
     .name = "radix_k",
     .aliases = {"rxk"},
     .algorithm = &reduce_radix_k,
     .summary = "a reduce_scatter by direct exchanges in groups of k ranks, round by round, and a gather up a binomial tree",
     .paper = "Peterka, Goodell, Ross, Shen, Thakur: A configurable algorithm for parallel image-compositing applications",
     .limits = "waits for ranks that it exchanges with, though they only contribute",
     .needs = Condition::commutative},
    {.operation = OperationKind::reduce,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &reduce_shared_memory,
     .summary = "each rank writes its elements into memory that the ranks of its node share, and leaves; the root combines them there as "
                "they come",
     .paper = kNodeMemory,
     .needs = Condition::node_memory | Condition::whole_pieces},
    {.operation = OperationKind::reduce,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &reduce_two_level,
     .summary = "the ranks of a node combine a share each, and the ranks that have the same share reduce it to the root's node",
     .paper = kMultiLane,
     .limits = "waits for the ranks of each node that combine",
     .needs = Condition::several_nodes | Condition::commutative | Condition::whole_pieces},
    {.operation = OperationKind::reduce,
     .name = "clairvoyant",
     .aliases = {"clv"},
     .algorithm = &reduce_clairvoyant,
     .summary = "a schedule for the times at which ranks are expected: what early ones bring is combined when the last one comes",
     .paper = "Proficz, Ocetkiewicz: Improving Clairvoyant: reduction algorithm resilient to imbalanced process arrival patterns",
     .limits = "the root tells all ranks the times: for planned calls, where that is done before they arrive",
     .segmented = true,
     .needs = Condition::commutative | Condition::any_order,
     .begins_early = true},
    {.operation = OperationKind::reduce,
     .name = "near_optimal",
     .aliases = {"nearopt"},
     .algorithm = &reduce_near_optimal,
     .summary = "the schedule of clairvoyant for arrivals that are known beforehand",
     .paper = "Proficz, Ocetkiewicz: Improving Clairvoyant: reduction algorithm resilient to imbalanced process arrival patterns",
     .limits = "simulation only: it is told all arrival times",
     .segmented = true,
     .needs = Condition::oracle | Condition::commutative | Condition::any_order},
};

inline constexpr Rule kReduceRules[] = {
    {kAnyBytes, kAnyRanks, named(kReduceAlgorithms, "shared_memory"),
     "ranks of one node: what each brings is copied into shared memory and combined there, and nobody but the root waits for anybody",
     Condition::node_memory},
    {kAnyBytes, 2, named(kReduceAlgorithms, "linear"), "one message, whatever the algorithm"},
    {8192, 8, named(kReduceAlgorithms, "linear"),
     "what is short is carried along with its header: its sender is done at once, and nobody waits for a rank that forwards"},
    {64 << 10, kAnyRanks, named(kReduceAlgorithms, "binomial"),
     "short messages of many: log2 n of them enter the root instead of n - 1, and combining is shared"},
    {kAnyBytes,
     kAnyRanks,
     named(kReduceAlgorithms, "pipelined"),
     "long messages: each port carries them once, and each rank combines once, whatever the number of ranks",
     {},
     &chain_segment},
};

}  // namespace rollcall::collectives
