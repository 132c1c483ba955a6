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
Task reduce_binary(Operation& op);
Task reduce_rabenseifner(Operation& op);
Task reduce_ring(Operation& op);
Task reduce_radix_k(Operation& op);
Task reduce_circulant(Operation& op);
Task reduce_shared_memory(Operation& op);
runtime::ShortMove short_move_of_reduce(const runtime::Arguments& arguments, const runtime::Call& call, int rank, int ranks);
Task reduce_two_level(Operation& op);
bool reduce_two_level_only_publishes(std::uint64_t bytes, int root, int rank, const runtime::Group& group);
/// Twice the rank's share of the elements, if it combines one (AlgorithmEntry::passes_on).
std::uint64_t reduce_two_level_passes_on(std::uint64_t bytes, int root, int rank, const runtime::Group& group);
Task reduce_clairvoyant(Operation& op);
Task reduce_online(Operation& op);
/// Twice the message, if the rank has ranks below it (AlgorithmEntry::collects).
std::uint64_t reduce_binomial_collects(std::uint64_t bytes, int root, int rank, int ranks);
/// The message, unless the rank is the first one of the chain (AlgorithmEntry::collects).
std::uint64_t reduce_pipelined_collects(std::uint64_t bytes, int root, int rank, int ranks);
/// The message of each child (AlgorithmEntry::collects).
std::uint64_t reduce_binary_collects(std::uint64_t bytes, int root, int rank, int ranks);
/// Needs `arguments().oracle`, the arrival times of all ranks. For simulations only.
Task reduce_near_optimal(Operation& op);

inline constexpr AlgorithmEntry kReduceAlgorithms[] = {
    {.operation = OperationKind::reduce,
     .name = "linear",
     .aliases = {"lin"},
     .algorithm = &reduce_linear,
     .summary = "the root receives from each rank in turn, and combines",
     .runs_alone = true,
     .sends_awaited = SendsAwaited::all,
     .cost = &cost::reduce_linear},
    {.operation = OperationKind::reduce,
     .name = "binomial",
     .aliases = {"bnom"},
     .algorithm = &reduce_binomial,
     .summary = "binomial tree; a rank combines what its subtree brings, and sends the result on",
     .paper = kThakur,
     .runs_alone = true,
     .sends_awaited = SendsAwaited::one,
     .cost = &cost::reduce_binomial,
     .collects = &reduce_binomial_collects},
    {.operation = OperationKind::reduce,
     .name = "pipelined",
     .aliases = {"chain"},
     .algorithm = &reduce_pipelined,
     .summary = "a chain of ranks; each combines pieces with its own and passes them on",
     .paper = kPatarasukYuan,
     .segmented = true,
     .runs_alone = true,
     .sends_awaited = SendsAwaited::one,
     .cost = &cost::reduce_chain,
     .collects = &reduce_pipelined_collects},
    {.operation = OperationKind::reduce,
     .name = "binary",
     .aliases = {"bintree"},
     .algorithm = &reduce_binary,
     .summary = "a binary tree; a rank combines pieces of its two subtrees with its own and passes them on",
     .paper = kSandersSibeyn,
     .segmented = true,
     .runs_alone = true,
     .sends_awaited = SendsAwaited::one,
     .cost = &cost::reduce_binary,
     .collects = &reduce_binary_collects},
    {.operation = OperationKind::reduce,
     .name = "rabenseifner",
     .aliases = {"rab"},
     .algorithm = &reduce_rabenseifner,
     .summary = "a reduce_scatter by recursive halving, then a gather up a binomial tree",
     .paper = kThakur,
     .limits = "the part of a rank goes on until the ranks that it exchanges with have come, although it needs no result, and takes memory "
               "of up to 1.5 messages beside ROLLCALL_LANDING_BYTES",
     .needs = Condition::commutative,
     .runs_alone = true},
    {.operation = OperationKind::reduce,
     .name = "ring",
     .algorithm = &reduce_ring,
     .summary = "blocks are combined round a ring, then gathered up a binomial tree",
     .paper = "Barnett, Littlefield, Payne, van de Geijn: On the efficiency of global combine algorithms for 2-D meshes",
     .limits = "the part of a rank goes on until all ranks have come, and takes memory of up to 1.5 messages beside ROLLCALL_LANDING_BYTES",
     .needs = Condition::commutative,
     .runs_alone = true},
    {.operation = OperationKind::reduce,
     .name = "radix_k",
     .aliases = {"rxk"},
     .algorithm = &reduce_radix_k,
     .summary = "a reduce_scatter in rounds, in which groups of k ranks exchange directly, then a gather up a binomial tree",
     .paper = "Peterka, Goodell, Ross, Shen, Thakur: A configurable algorithm for parallel image-compositing applications",
     .limits = "the part of a rank goes on until the ranks that it exchanges with have come, although it needs no result, and takes memory "
               "of up to two messages beside ROLLCALL_LANDING_BYTES",
     .needs = Condition::commutative,
     .runs_alone = true},
    {.operation = OperationKind::reduce,
     .name = "circulant",
     .aliases = {"circ"},
     .algorithm = &reduce_circulant,
     .summary = "the circulant broadcast, backwards: every rank sends and receives one segment in each round, and combines",
     .paper = "Träff: Optimal broadcast schedules in logarithmic time",
     .limits = "the part of a rank goes on until all ranks have come, and takes memory of up to two messages beside ROLLCALL_LANDING_BYTES",
     .segmented = true,
     .needs = Condition::commutative,
     .runs_alone = true},
    {.operation = OperationKind::reduce,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &reduce_shared_memory,
     .summary = "each rank writes its elements into memory that the ranks of its node share, and leaves; the root combines them there",
     .paper = kNodeMemory,
     .needs = Condition::node_memory | Condition::whole_pieces,
     .short_move = &short_move_of_reduce},
    {.operation = OperationKind::reduce,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &reduce_two_level,
     .summary = "each rank of a node combines a share; the ranks that have the same share reduce it to the root's node",
     .paper = kMultiLane,
     .limits = "a rank that combines elements of other nodes takes memory of up to two of its shares beside ROLLCALL_LANDING_BYTES; with a "
               "function of the program, it waits for the ranks of its node",
     .needs = Condition::several_nodes | Condition::commutative | Condition::whole_pieces,
     .runs_alone = true,
     .cost = &cost::reduce_two_level,
     .passes_on = &reduce_two_level_passes_on,
     .only_publishes = &reduce_two_level_only_publishes},
    {.operation = OperationKind::reduce,
     .name = "clairvoyant",
     .aliases = {"clv"},
     .algorithm = &reduce_clairvoyant,
     .summary = "a schedule for the expected arrival times: elements of early ranks are combined before the last rank arrives",
     .paper = "Proficz, Ocetkiewicz: Improving Clairvoyant: reduction algorithm resilient to imbalanced process arrival patterns",
     .limits = "meant for planned calls, in which the root can tell all ranks the times before they arrive; with more than 64 ranks there "
               "are fewer pieces, because each rank computes the messages of all ranks; the root sends n numbers to each of n ranks, which "
               "takes longer than it saves if they are many hundreds",
     .segmented = true,
     .needs = Condition::commutative | Condition::any_order,
     .begins_early = true},
    {.operation = OperationKind::reduce,
     .name = "online",
     .algorithm = &reduce_online,
     .summary = "the root tells the ranks that have arrived what to exchange: no rank waits for a late one, and none is predicted",
     .paper = "Our own, after Proficz and Ocetkiewicz: Improving Clairvoyant",
     .limits = "each of the up to 256 pieces of each rank takes some short messages to and from the root, so it is for few ranks; unless "
               "the call is planned, nothing is combined before the root has come",
     .segmented = true,
     .needs = Condition::commutative | Condition::any_order,
     .begins_early = true},
    {.operation = OperationKind::reduce,
     .name = "near_optimal",
     .aliases = {"nearopt"},
     .algorithm = &reduce_near_optimal,
     .summary = "the schedule of clairvoyant, for arrival times that are known in advance",
     .paper = "Proficz, Ocetkiewicz: Improving Clairvoyant: reduction algorithm resilient to imbalanced process arrival patterns",
     .limits = "for simulations only: it must know all arrival times in advance",
     .segmented = true,
     .needs = Condition::oracle | Condition::commutative | Condition::any_order},
};

inline constexpr Rule kReduceRules[] = {
    {kAnyBytes, kAnyRanks, named(kReduceAlgorithms, "shared_memory"),
     "on one node, each rank copies its elements into shared memory and leaves, and the root combines them there; only the root waits",
     Condition::node_memory},
    {kAnyBytes, 2, named(kReduceAlgorithms, "linear"), "with two ranks, every algorithm sends the same single message"},
    {8192, 8, named(kReduceAlgorithms, "linear"),
     "a short message travels with its header, so its sender is done at once, and no rank waits for a rank that forwards"},
    {2048, 16, named(kReduceAlgorithms, "linear"),
     "several ranks a node: a rank is done at once, and waits for none that forwards; that such short messages enter the root one by one "
     "takes less time than the steps of a tree",
     Condition::several_nodes},
    {kShortBroadcast,
     kAnyRanks,
     named(kReduceAlgorithms, "binomial"),
     "a short message from each of many: n - 1 or log2 n messages enter the root, and the lowest estimate decides",
     {},
     nullptr,
     {named(kReduceAlgorithms, "linear")}},
    {kAnyBytes,
     kAnyRanks,
     named(kReduceAlgorithms, "two_level"),
     "several ranks a node: a node's elements are combined in its memory before they leave it, or go from rank to rank, and the time "
     "decides",
     Condition::background | Condition::even_nodes,
     &cost::chain_segment,
     {named(kReduceAlgorithms, "binomial"), named(kReduceAlgorithms, "pipelined"), named(kReduceAlgorithms, "binary")}},
    {kAnyBytes,
     kAnyRanks,
     named(kReduceAlgorithms, "binomial"),
     "n - 1 or log2 n whole messages enter the root, or pieces go up a chain or a binary tree, of which one or two enter it at a time; the "
     "lowest estimate decides, which includes how long the root's port is busy",
     {},
     &cost::chain_segment,
     {named(kReduceAlgorithms, "pipelined"), named(kReduceAlgorithms, "binary"), named(kReduceAlgorithms, "linear")}},
};

}  // namespace rollcall::collectives
