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
Task alltoall_two_level(Operation& op);

inline constexpr AlgorithmEntry kAlltoallAlgorithms[] = {
    {.operation = OperationKind::alltoall,
     .name = "linear",
     .aliases = {"lin"},
     .algorithm = &alltoall_linear,
     .summary = "each rank sends each other one its block, the next one first",
     .paper = kThakur,
     .limits = "where nothing lands early, who sends to a late rank waits for it",
     .cost = &cost::exchange},
    {.operation = OperationKind::alltoall,
     .name = "pairwise",
     .algorithm = &alltoall_pairwise,
     .summary = "n - 1 rounds, in each of which a rank sends to one and receives from one",
     .paper = kThakur,
     .limits = "waits for all ranks, by its nature"},
    {.operation = OperationKind::alltoall,
     .name = "bruck",
     .algorithm = &alltoall_bruck,
     .summary = "log2 n rounds of half of all blocks, which are passed on",
     .paper = kBruck,
     .limits = "waits for all ranks, by its nature; sends each byte log2 n / 2 times",
     .needs = Condition::equal_blocks,
     .cost = &cost::alltoall_bruck},
    {.operation = OperationKind::alltoall,
     .name = "arrival_ordered",
     .algorithm = &alltoall_arrival_ordered,
     .summary = "each rank serves those that have arrived first, as its board shows them, and ahead while nobody waits",
     .paper = "After Qian, Afsahi: Process arrival pattern aware alltoall and allgather on InfiniBand clusters",
     .limits = "sends ahead within the landing budget of the receivers",
     .begins_early = true},
    {.operation = OperationKind::alltoall,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &alltoall_shared_memory,
     .summary = "each rank writes a block for each other one into memory that the ranks of its node share; they copy theirs out",
     .paper = kNodeMemory,
     .needs = Condition::node_memory,
     .begins_early = true},
    {.operation = OperationKind::alltoall,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &alltoall_two_level,
     .summary = "the ranks of a node combine what goes to another node: one message, or several where blocks are long",
     .paper = kCheetah,
     .limits = "waits for all ranks, by its nature",
     .needs = Condition::several_nodes | Condition::equal_blocks},
};

inline constexpr Rule kAlltoallRules[] = {
    {kAnyBytes, kAnyRanks, named(kAlltoallAlgorithms, "shared_memory"),
     "ranks of one node: each block is copied into shared memory, and each rank copies those that are there", Condition::node_memory},
    {1024, kAnyRanks, named(kAlltoallAlgorithms, "two_level"),
     "short blocks, several ranks a node: fewer messages leave a node, and its ranks copy little"},
    {kAnyBytes, 8, named(kAlltoallAlgorithms, "linear"), "few ranks: one message for each block, and no other"},
    {kAnyBytes,
     kAnyRanks,
     named(kAlltoallAlgorithms, "linear"),
     "n - 1 messages leave each rank and land early, or log2 n longer ones, and the time decides",
     Condition::equal_blocks | Condition::landing,
     nullptr,
     {named(kAlltoallAlgorithms, "bruck")}},
    {256, kAnyRanks, named(kAlltoallAlgorithms, "bruck"), "short blocks: log2 n messages leave each rank instead of n - 1",
     Condition::equal_blocks},
    {kAnyBytes, kAnyRanks, named(kAlltoallAlgorithms, "linear"),
     "each block moves once, and lands where its rank has not come, so nobody waits for a late one but for its own blocks",
     Condition::landing},
    {kAnyBytes, kAnyRanks, named(kAlltoallAlgorithms, "pairwise"),
     "nothing lands early: each rank sends to one and receives from one at a time"},
};

}  // namespace rollcall::collectives
