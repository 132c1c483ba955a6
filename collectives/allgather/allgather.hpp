/// \file
/// The allgather algorithms, one file each. Arguments: `contribution` is this rank's block. `data` is the place for the blocks of all
/// ranks, in the order of ranks (the contribution may be in its place there already). All blocks have the size call().bytes; or each has a
/// size of its own, which all ranks have in `blocks`.
///
/// Notation of the files: P (or n) is the number of ranks. In the examples, a->b means that rank a sends to rank b, and "until t" means
/// that the transfer ends at time t. a-b means that the two exchange.
#pragma once

#include "collectives/algorithm.hpp"

namespace rollcall::collectives {

Task allgather_linear(Operation& op);
Task allgather_ring(Operation& op);
Task allgather_bruck(Operation& op);
Task allgather_recursive_doubling(Operation& op);
Task allgather_neighbour_exchange(Operation& op);
Task allgather_circulant(Operation& op);
Task allgather_shared_memory(Operation& op);
runtime::ShortMove short_move_of_allgather(const runtime::Arguments& arguments, const runtime::Call& call, int rank, int ranks);
Task allgather_two_level(Operation& op);
Task allgather_background_disseminated_ring(Operation& op);
Task allgather_background_sorted_linear_broadcast(Operation& op);

inline constexpr std::string_view kProficzAllgather = "Proficz: All-gather algorithms resilient to imbalanced process arrival patterns";

inline constexpr AlgorithmEntry kAllgatherAlgorithms[] = {
    {.operation = OperationKind::allgather,
     .name = "linear",
     .aliases = {"lin"},
     .algorithm = &allgather_linear,
     .summary = "each rank sends its block to each other one, the next one first",
     .paper = kThakur,
     .limits = "where nothing lands early, a rank that sends to a late one waits for it",
     .cost = &cost::exchange},
    {.operation = OperationKind::allgather,
     .name = "ring",
     .algorithm = &allgather_ring,
     .summary = "blocks go round a ring, from neighbour to neighbour",
     .paper = kThakur,
     .limits = "every rank waits for all ranks, as the operation demands"},
    {.operation = OperationKind::allgather,
     .name = "bruck",
     .algorithm = &allgather_bruck,
     .summary = "log2 n rounds, for any n; in each the number of blocks that a rank has doubles",
     .paper = kBruck,
     .limits = "every rank waits for all ranks, as the operation demands",
     .cost = &cost::allgather_bruck},
    {.operation = OperationKind::allgather,
     .name = "recursive_doubling",
     .aliases = {"rd"},
     .algorithm = &allgather_recursive_doubling,
     .summary = "log2 n exchanges of all blocks that a rank has, between pairs of ranks",
     .paper = kThakur,
     .limits = "every rank waits for all ranks, as the operation demands; if n is not a power of two, it sends two more messages, one of "
               "them of all blocks"},
    {.operation = OperationKind::allgather,
     .name = "neighbour_exchange",
     .aliases = {"neighbor_exchange"},
     .algorithm = &allgather_neighbour_exchange,
     .summary = "n / 2 exchanges, in turn with the left and the right neighbour, of two blocks each",
     .paper = "Chen, Zhang, Zhang, Yuan: Performance evaluation of Allgather algorithms on terascale Linux cluster with fast Ethernet",
     .limits = "every rank waits for all ranks, as the operation demands; an odd number of ranks uses the ring"},
    {.operation = OperationKind::allgather,
     .name = "circulant",
     .aliases = {"circ"},
     .algorithm = &allgather_circulant,
     .summary = "all ranks broadcast their blocks at once, in log2 n rounds; blocks of different sizes are cut into pieces",
     .paper = "Träff: Optimal broadcast schedules in logarithmic time",
     .limits = "every rank waits for all ranks, as the operation demands",
     .segmented = true,
     .whole_by_default = true},
    {.operation = OperationKind::allgather,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &allgather_shared_memory,
     .summary = "each rank writes its block into memory that the ranks of its node share; the others copy it out as it comes",
     .paper = kNodeMemory,
     .needs = Condition::node_memory,
     .begins_early = true,
     .short_move = &short_move_of_allgather},
    {.operation = OperationKind::allgather,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &allgather_two_level,
     .summary = "one rank of each node collects the node's blocks, the nodes exchange them in a ring, and each node shares all blocks "
                "through its memory",
     .paper = kCheetah,
     .limits = "a late rank keeps back the blocks of its node, and its node receives nothing before it comes if it is the first one there",
     .needs = Condition::several_nodes,
     .begins_early = true,
     .forwards = true,
     .cost = &cost::allgather_two_level},
    {.operation = OperationKind::allgather,
     .name = "background_disseminated_ring",
     .aliases = {"bdr"},
     .algorithm = &allgather_background_disseminated_ring,
     .summary = "as ring, but each rank passes on each block when it comes, also before its own caller arrives",
     .paper = kProficzAllgather,
     .begins_early = true,
     .forwards = true},
    {.operation = OperationKind::allgather,
     .name = "background_sorted_linear_broadcast",
     .aliases = {"bslb"},
     .algorithm = &allgather_background_sorted_linear_broadcast,
     .summary = "rank 0 gathers the blocks in the order of arrival, in plans before its own caller arrives, and broadcasts all of them",
     .paper = kProficzAllgather,
     .limits = "every rank waits for all ranks, as the operation demands; all blocks pass through rank 0",
     .segmented = true,
     .whole_by_default = true,
     .begins_early = true},
};

inline constexpr Rule kAllgatherRules[] = {
    {kAnyBytes, kAnyRanks, named(kAllgatherAlgorithms, "shared_memory"),
     "ranks of one node: each block is copied into shared memory once, and each rank copies those that are there", Condition::node_memory},
    {kAnyBytes, 2, named(kAllgatherAlgorithms, "linear"), "one message each way, whatever the algorithm"},
    {kAnyBytes,
     kAnyRanks,
     named(kAllgatherAlgorithms, "two_level"),
     "several ranks a node: messages go between nodes only, or fewer copies are made, and the lowest estimate decides",
     Condition::equal_blocks,
     nullptr,
     {named(kAllgatherAlgorithms, "bruck"), named(kAllgatherAlgorithms, "linear")}},
    {16 << 10,
     kAnyRanks,
     named(kAllgatherAlgorithms, "bruck"),
     "short blocks: log2 n messages leave each rank, or n - 1 of which none is passed on, and the lowest estimate decides",
     Condition::equal_blocks | Condition::landing,
     nullptr,
     {named(kAllgatherAlgorithms, "linear")}},
    {4096, kAnyRanks, named(kAllgatherAlgorithms, "bruck"), "short blocks: log2 n messages leave each rank instead of n - 1"},
    {kAnyBytes, kAnyRanks, named(kAllgatherAlgorithms, "background_disseminated_ring"),
     "long blocks: each rank sends each block once, to its neighbour, and also passes blocks on before its own caller comes, so a late rank "
     "keeps back only its own block",
     Condition::background},
    {kAnyBytes, kAnyRanks, named(kAllgatherAlgorithms, "linear"),
     "long blocks: each goes straight to every rank, and lands early at a rank that has not come, so no rank waits for one that forwards",
     Condition::landing},
    {kAnyBytes, kAnyRanks, named(kAllgatherAlgorithms, "background_disseminated_ring"),
     "long blocks: each rank sends each block once, to its neighbour, which takes it at the same time, in plans before its own caller "
     "comes"},
};

}  // namespace rollcall::collectives
