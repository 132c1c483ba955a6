/// \file
/// The alltoall algorithms, one file each. Arguments: `contribution` holds this rank's blocks for all ranks, in the order of ranks. `data`
/// is the place for the blocks of all ranks for this one, in the same order. All blocks have the size call().bytes; or each has a size of
/// its own. Then each rank has the sizes of what it sends in `contribution_blocks`, and of what it receives in `blocks`.
///
/// Notation of the files: P (or n) is the number of ranks. In the examples, a->b means that rank a sends to rank b, and "until t" means
/// that the transfer ends at time t. a-b means that the two exchange.
#pragma once

#include "collectives/algorithm.hpp"

namespace rollcall::collectives {

Task alltoall_linear(Operation& op);
Task alltoall_pairwise(Operation& op);
Task alltoall_bruck(Operation& op);
Task alltoall_arrival_ordered(Operation& op);
Task alltoall_shared_memory(Operation& op);
runtime::ShortMove short_move_of_alltoall(const runtime::Arguments& arguments, const runtime::Call& call, int rank, int ranks);
Task alltoall_two_level(Operation& op);
Task alltoall_arrival_ordered_two_level(Operation& op);

inline constexpr std::string_view kQianAfsahi =
    "After Qian, Afsahi: Process arrival pattern aware alltoall and allgather on InfiniBand clusters";

inline constexpr AlgorithmEntry kAlltoallAlgorithms[] = {
    {.operation = OperationKind::alltoall,
     .name = "linear",
     .aliases = {"lin"},
     .algorithm = &alltoall_linear,
     .summary = "each rank sends one block to each other rank, beginning with the next rank",
     .paper = kThakur,
     .limits = "without landing memory, a rank that sends to a late rank waits for it",
     .cost = &cost::exchange},
    {.operation = OperationKind::alltoall,
     .name = "pairwise",
     .algorithm = &alltoall_pairwise,
     .summary = "n - 1 rounds; in each, a rank sends to one rank and receives from one",
     .paper = kThakur,
     .limits = "every rank waits for all ranks"},
    {.operation = OperationKind::alltoall,
     .name = "bruck",
     .algorithm = &alltoall_bruck,
     .summary = "log2 n rounds; in each, a rank passes on half of all blocks",
     .paper = kBruck,
     .limits = "every rank waits for all ranks; each byte is sent log2 n / 2 times",
     .needs = Condition::equal_blocks,
     .cost = &cost::alltoall_bruck},
    {.operation = OperationKind::alltoall,
     .name = "arrival_ordered",
     .algorithm = &alltoall_arrival_ordered,
     .summary = "each rank serves the ranks that have arrived first, and while none waits, it sends ahead to the others",
     .paper = kQianAfsahi,
     .limits = "sends ahead only within the landing budget of the receivers",
     .begins_early = true},
    {.operation = OperationKind::alltoall,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &alltoall_shared_memory,
     .summary = "each rank writes its blocks into memory that the ranks of its node share; each rank copies out the blocks for itself",
     .paper = kNodeMemory,
     .needs = Condition::node_memory,
     .begins_early = true,
     .short_move = &short_move_of_alltoall},
    {.operation = OperationKind::alltoall,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &alltoall_two_level,
     .summary = "the ranks of a node put together what goes to another node: in one message, or in several if blocks are long",
     .paper = kCheetah,
     .limits = "each rank waits for all ranks of its node before it sends; `auto` does not take it for blocks of different sizes, because "
               "nobody knows how long all are",
     .needs = Condition::several_nodes,
     .cost = &cost::alltoall_two_level},
    {.operation = OperationKind::alltoall,
     .name = "arrival_ordered_two_level",
     .algorithm = &alltoall_arrival_ordered_two_level,
     .summary = "as two_level, but each node first serves the nodes whose ranks have all arrived, and sends ahead while none waits",
     .paper = kQianAfsahi,
     .limits = "each rank waits for all ranks of its node before it sends",
     .needs = Condition::several_nodes},
};

/// On several nodes, `auto` takes no two levels for blocks longer than this, in bytes, whatever the estimates say. With 4 ranks on each of
/// 4 nodes, two levels took 0.8 times as long as `linear` at 4 KiB and 1.1 to 1.5 times at 8 KiB (docs/performance/several-nodes.md).
inline constexpr std::uint64_t kLongestOnTwoLevels = 4096;

inline constexpr Rule kAlltoallRules[] = {
    {kAnyBytes, kAnyRanks, named(kAlltoallAlgorithms, "shared_memory"),
     "on one node, each block is copied into shared memory once, and each rank copies blocks out as they come", Condition::node_memory},
    // The estimates do not know that a rank sends nothing before all ranks of its node have run, and that these may share cores.
    {kLongestOnTwoLevels,
     kAnyRanks,
     named(kAlltoallAlgorithms, "two_level"),
     "blocks of up to 4 KiB, several ranks a node: fewer messages leave the node, or fewer copies are made, and the lowest estimate "
     "decides",
     Condition::equal_blocks | Condition::landing,
     nullptr,
     {named(kAlltoallAlgorithms, "linear"), named(kAlltoallAlgorithms, "bruck")}},
    {1024, kAnyRanks, named(kAlltoallAlgorithms, "two_level"),
     "short blocks, several ranks on a node: fewer messages leave the node, and copying short blocks costs little"},
    {kAnyBytes, 8, named(kAlltoallAlgorithms, "linear"), "few ranks: one message for each block is little"},
    {kAnyBytes,
     kAnyRanks,
     named(kAlltoallAlgorithms, "linear"),
     "n - 1 messages leave each rank and land early, or log2 n longer ones, and the lowest estimate decides",
     Condition::equal_blocks | Condition::landing,
     nullptr,
     {named(kAlltoallAlgorithms, "bruck")}},
    {256, kAnyRanks, named(kAlltoallAlgorithms, "bruck"), "short blocks: each rank sends log2 n messages instead of n - 1",
     Condition::equal_blocks},
    {kAnyBytes, kAnyRanks, named(kAlltoallAlgorithms, "linear"),
     "each block moves once, and lands even before its receiver arrives, so a late rank delays only its own blocks", Condition::landing},
    {kAnyBytes, kAnyRanks, named(kAlltoallAlgorithms, "pairwise"),
     "without landing memory, each rank sends to one rank and receives from one at a time"},
};

}  // namespace rollcall::collectives
