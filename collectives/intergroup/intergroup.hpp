/// \file
/// Collective operations between the two groups of an intercommunicator. Their communicator has the ranks of both groups, those of the
/// first group first.
///
/// Allgather: every rank gets the blocks of the other group, in rank order, in `data`. `contribution` is its own block. Either all blocks
/// of a group have one size (Call::bytes in the first group, Call::segment_bytes in the second one; all ranks know both). Or blocks have
/// sizes of their own; then `blocks` gives those of the other group.
///
/// Operations with a root: the root is given as a rank of the common communicator. The other ranks of its group do nothing. Broadcast:
/// `data` is read at the root and written in the other group. Scatter: `data` of the root holds a block for each rank of the other group,
/// which goes to that rank's `result`. Gather: the `contribution` of each rank of the other group goes to `data` of the root. Reduce: as
/// gather, but the contributions are combined. Blocks of scatter and gather may have sizes of their own; the root has them in `blocks`.
///
/// Allreduce: each rank gets in `data` the `contribution`s of the other group, combined, in rank order if the operation does not
/// commute. Alltoall: `contribution` holds a block for each rank of the other group; `data` gets a block from each. Sizes that are the same
/// for a group are given as with allgather; own sizes are in `blocks` and `contribution_blocks`, by the ranks of the other group.
///
/// Notation of the files: A and B are the groups, with p and q ranks; a0, a1, ... and b0, b1, ... are their ranks; kA and kB are the sizes
/// of one block in each. In the examples, a0->b0 means that a0 sends to b0, and "until t" means that the transfer ends at time t. a0<->b0
/// means that the two exchange.
#pragma once

#include "collectives/algorithm.hpp"

namespace rollcall::collectives {

Task intergroup_allgather_full_duplex(Operation& op);
Task intergroup_allgather_two_step(Operation& op);
Task intergroup_allgather_root_gathering(Operation& op);
Task intergroup_allgather_root_gathering_sequential(Operation& op);
Task intergroup_allgather_shared_memory(Operation& op);
Task intergroup_allgather_two_level(Operation& op);
Task intergroup_allgather_by_sizes(Operation& op);

Task intergroup_broadcast_binomial(Operation& op);
Task intergroup_broadcast_pipelined(Operation& op);
Task intergroup_broadcast_shared_memory(Operation& op);
Task intergroup_broadcast_two_level(Operation& op);
Task intergroup_scatter_linear(Operation& op);
Task intergroup_scatter_shared_memory(Operation& op);
Task intergroup_scatter_two_level(Operation& op);
Task intergroup_gather_linear(Operation& op);
Task intergroup_gather_shared_memory(Operation& op);
Task intergroup_gather_two_level(Operation& op);
Task intergroup_reduce_binomial(Operation& op);
Task intergroup_reduce_pipelined(Operation& op);
Task intergroup_reduce_shared_memory(Operation& op);
Task intergroup_reduce_two_level(Operation& op);
Task intergroup_allreduce_reduce_then_broadcast(Operation& op);
Task intergroup_allreduce_pipelined(Operation& op);
Task intergroup_allreduce_shared_memory(Operation& op);
Task intergroup_allreduce_two_level(Operation& op);
Task intergroup_alltoall_linear(Operation& op);
Task intergroup_alltoall_pairwise(Operation& op);
Task intergroup_alltoall_shared_memory(Operation& op);
Task intergroup_alltoall_two_level(Operation& op);

inline constexpr std::string_view kKangTraeff = "Kang, Träff et al.: Scalable algorithms for MPI intergroup allgather and allgatherv";

inline constexpr AlgorithmEntry kIntergroupAllgatherAlgorithms[] = {
    {.operation = OperationKind::intergroup_allgather,
     .name = "full_duplex",
     .algorithm = &intergroup_allgather_full_duplex,
     .summary = "each rank sends its block to one or a few ranks of the other group; then each group passes the parts round a ring",
     .paper = kKangTraeff,
     .limits = "every rank waits for all ranks",
     .cost = &cost::intergroup_full_duplex},
    {.operation = OperationKind::intergroup_allgather,
     .name = "two_step",
     .algorithm = &intergroup_allgather_two_step,
     .summary = "as full_duplex, but the parts go round among neighbours first, and then among all",
     .paper = "Kang, Träff et al.: Full-duplex inter-group all-to-all broadcast algorithms with optimal bandwidth",
     .limits = "every rank waits for all ranks; it is full_duplex if no group's size divides the other's, or if blocks differ in size"},
    {.operation = OperationKind::intergroup_allgather,
     .name = "root_gathering",
     .algorithm = &intergroup_allgather_root_gathering,
     .summary = "one rank of each group gathers the blocks of its group; these two ranks exchange them, and broadcast what they got",
     .paper = kKangTraeff,
     .limits = "every rank waits for all ranks",
     .cost = &cost::intergroup_root_gathering},
    {.operation = OperationKind::intergroup_allgather,
     .name = "root_gathering_sequential",
     .algorithm = &intergroup_allgather_root_gathering_sequential,
     .summary = "as root_gathering, but one direction after the other, as MPICH does it",
     .paper = kKangTraeff,
     .limits = "every rank waits for all ranks; only for comparisons"},
    {.operation = OperationKind::intergroup_allgather,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &intergroup_allgather_shared_memory,
     .summary = "each rank writes its block into memory that the ranks of its node share; the ranks of the other group copy it out",
     .paper = kNodeMemory,
     .needs = Condition::node_memory,
     .begins_early = true},
    {.operation = OperationKind::intergroup_allgather,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &intergroup_allgather_two_level,
     .summary = "as full_duplex, but between the nodes only; the ranks of a group that are on one node share blocks through its memory",
     .paper = kKangTraeff,
     .limits = "every rank waits for all ranks; for blocks of different sizes `auto` takes by_sizes",
     .needs = Condition::several_nodes,
     .cost = &cost::intergroup_two_level},
    {.operation = OperationKind::intergroup_allgather,
     .name = "by_sizes",
     .algorithm = &intergroup_allgather_by_sizes,
     .summary = "all ranks learn the sizes of all blocks, and go on by two_level, full_duplex or root_gathering, whichever has the lowest "
                "estimate for these",
     .paper = "Our own, after Kang, Träff et al.",
     .limits = "every rank waits for all ranks"},
};

/// Between groups on several nodes, `auto` takes no two levels for blocks longer than this, in bytes, whatever the estimates say. With 8 + 8
/// ranks on 4 hosts at 1 Gbit/s, two levels took 0.53 times as long as `full_duplex` at 16 KiB and 1.25 times at 64 KiB
/// (docs/performance/several-nodes.md).
inline constexpr std::uint64_t kLongestBetweenGroupsOnTwoLevels = 16 << 10;

/// Between groups of at most so many ranks together, the estimates decide for short blocks, too. Between more, trees are taken: between 8 + 8
/// and 12 + 4 ranks on 4 hosts they were faster up to 1 KiB (docs/performance/several-nodes.md), although the estimates say otherwise.
inline constexpr int kFewRanksOfGroups = 12;

inline constexpr Rule kIntergroupAllgatherRules[] = {
    {kAnyBytes, kAnyRanks, named(kIntergroupAllgatherAlgorithms, "shared_memory"),
     "on one node, each block is copied into shared memory once, and each rank waits only for the other group", Condition::node_memory},
    {kLongestBetweenGroupsOnTwoLevels,
     kAnyRanks,
     named(kIntergroupAllgatherAlgorithms, "two_level"),
     "blocks of up to 16 KiB, several ranks a node: fewer messages leave the node, or fewer copies are made, and the lowest estimate "
     "decides",
     Condition::equal_blocks,
     nullptr,
     {named(kIntergroupAllgatherAlgorithms, "root_gathering"), named(kIntergroupAllgatherAlgorithms, "full_duplex")}},
    {kAnyBytes,
     kFewRanksOfGroups,
     named(kIntergroupAllgatherAlgorithms, "full_duplex"),
     "few ranks: one step for each rank of the larger group, or two trees, and the lowest estimate decides",
     Condition::equal_blocks,
     nullptr,
     {named(kIntergroupAllgatherAlgorithms, "root_gathering")}},
    {2048, kAnyRanks, named(kIntergroupAllgatherAlgorithms, "root_gathering"), "short blocks: two trees need few messages",
     Condition::equal_blocks},
    {kAnyBytes,
     kAnyRanks,
     named(kIntergroupAllgatherAlgorithms, "full_duplex"),
     "all links are busy at once, and each rank receives little more than it needs; or two trees have fewer steps, and the lowest estimate "
     "decides",
     Condition::equal_blocks,
     nullptr,
     {named(kIntergroupAllgatherAlgorithms, "root_gathering")}},
    {kAnyBytes, kAnyRanks, named(kIntergroupAllgatherAlgorithms, "by_sizes"),
     "blocks of different sizes: all ranks learn the sizes first, and then the estimates decide"},
};

}  // namespace rollcall::collectives
