/// \file
/// The algorithms and rules of the operations between two groups other than the allgather (intergroup.hpp).
#pragma once

#include "collectives/intergroup/intergroup.hpp"
#include "collectives/two_level/passed_on.hpp"

namespace rollcall::collectives {

inline constexpr std::string_view kMpiIntergroup = "MPI: A Message-Passing Interface Standard 4.1, section 6.2.3";

/// Between groups on several nodes, `auto` takes no two levels for blocks longer than this, in bytes: all of them pass through the root's
/// port or the links of the nodes in any case, and a node copies them more often. The bounds are those of one group.
inline constexpr std::uint64_t kLongestScatterOnTwoLevels = 8192;
inline constexpr std::uint64_t kLongestAlltoallOnTwoLevels = 4096;

inline constexpr AlgorithmEntry kIntergroupBroadcastAlgorithms[] = {
    {.operation = OperationKind::intergroup_broadcast,
     .name = "binomial",
     .aliases = {"bnom"},
     .algorithm = &intergroup_broadcast_binomial,
     .summary = "binomial tree of the root and the ranks of the other group",
     .paper = kMpiIntergroup,
     .runs_alone = true,
     .queue = Queue::rounds,
     .cost = &cost::broadcast_binomial},
    {.operation = OperationKind::intergroup_broadcast,
     .name = "pipelined",
     .aliases = {"linear-p", "linear_p", "chain"},
     .algorithm = &intergroup_broadcast_pipelined,
     .summary = "a chain of the root and the ranks of the other group, which passes pieces on",
     .paper = kMpiIntergroup,
     .runs_alone = true,
     .queue = Queue::one,
     .cost = &cost::broadcast_chain},
    {.operation = OperationKind::intergroup_broadcast,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &intergroup_broadcast_shared_memory,
     .summary = "the root writes the message into memory that the ranks of its node share, and leaves; the other group copies it out",
     .paper = kNodeMemory,
     .needs = Condition::node_memory},
    {.operation = OperationKind::intergroup_broadcast,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &intergroup_broadcast_two_level,
     .summary = "one rank of the other group on each node passes the message on to other nodes, and writes it into its node's memory",
     .paper = kCheetah,
     .needs = Condition::several_nodes,
     .begins_early = true,
     .runs_alone = true,
     .cost = &cost::intergroup_broadcast_two_level},
};

inline constexpr Rule kIntergroupBroadcastRules[] = {
    {kAnyBytes, kAnyRanks, named(kIntergroupBroadcastAlgorithms, "shared_memory"),
     "on one node, the message is copied into shared memory once, and no rank waits for any but the root", Condition::node_memory},
    {kAnyBytes,
     kAnyRanks,
     named(kIntergroupBroadcastAlgorithms, "two_level"),
     "several ranks a node: the message enters each node of the other group once, or goes from rank to rank, and the time decides",
     {},
     nullptr,
     {named(kIntergroupBroadcastAlgorithms, "binomial"), named(kIntergroupBroadcastAlgorithms, "pipelined")}},
    {kAnyBytes,
     kAnyRanks,
     named(kIntergroupBroadcastAlgorithms, "binomial"),
     "a tree has few steps, and in a chain each rank sends and receives the message once, and the time decides",
     {},
     nullptr,
     {named(kIntergroupBroadcastAlgorithms, "pipelined")}},
};

inline constexpr AlgorithmEntry kIntergroupScatterAlgorithms[] = {
    {.operation = OperationKind::intergroup_scatter,
     .name = "linear",
     .aliases = {"lin"},
     .algorithm = &intergroup_scatter_linear,
     .summary = "the root sends to each rank of the other group",
     .paper = kMpiIntergroup,
     .runs_alone = true,
     .queue = Queue::all,
     .cost = &cost::linear},
    {.operation = OperationKind::intergroup_scatter,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &intergroup_scatter_shared_memory,
     .summary = "the root writes the blocks into memory that the ranks of its node share, and leaves; the other group copies them out",
     .paper = kNodeMemory,
     .needs = Condition::node_memory},
    {.operation = OperationKind::intergroup_scatter,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &intergroup_scatter_two_level,
     .summary = "the root sends each node the blocks of the other group's ranks there; one of them writes them into its node's memory",
     .paper = kCheetah,
     .needs = Condition::several_nodes | Condition::equal_blocks,
     .begins_early = true,
     .runs_alone = true,
     .queue = Queue::all,
     .cost = &cost::intergroup_two_level_of_blocks,
     .passes_on = &blocks_of_its_node},
};

inline constexpr Rule kIntergroupScatterRules[] = {
    {kAnyBytes, kAnyRanks, named(kIntergroupScatterAlgorithms, "shared_memory"),
     "on one node, each block is copied into shared memory, and no rank waits for any but the root", Condition::node_memory},
    {kLongestScatterOnTwoLevels,
     kAnyRanks,
     named(kIntergroupScatterAlgorithms, "two_level"),
     "short blocks for several ranks of each node: one message for each node, or one for each rank, and the time decides; no rank waits for "
     "the caller of the one that passes its block on",
     Condition::equal_blocks | Condition::background,
     nullptr,
     {named(kIntergroupScatterAlgorithms, "linear")}},
    {kAnyBytes, kAnyRanks, named(kIntergroupScatterAlgorithms, "linear"), "each block moves once, and no rank waits for one that forwards"},
};

inline constexpr AlgorithmEntry kIntergroupGatherAlgorithms[] = {
    {.operation = OperationKind::intergroup_gather,
     .name = "linear",
     .aliases = {"lin"},
     .algorithm = &intergroup_gather_linear,
     .summary = "each rank of the other group sends to the root",
     .paper = kMpiIntergroup,
     .runs_alone = true,
     .queue = Queue::all,
     .cost = &cost::linear},
    {.operation = OperationKind::intergroup_gather,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &intergroup_gather_shared_memory,
     .summary = "the other group writes its blocks into memory that the ranks of its node share, and leaves; the root copies them out",
     .paper = kNodeMemory,
     .needs = Condition::node_memory},
    {.operation = OperationKind::intergroup_gather,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &intergroup_gather_two_level,
     .summary = "one rank of the other group on each node collects the group's blocks there through memory, and sends them as one message",
     .paper = kCheetah,
     .needs = Condition::several_nodes | Condition::equal_blocks,
     .begins_early = true,
     .runs_alone = true,
     .cost = &cost::intergroup_two_level_of_blocks,
     .passes_on = &blocks_of_its_node},
};

inline constexpr Rule kIntergroupGatherRules[] = {
    {kAnyBytes, kAnyRanks, named(kIntergroupGatherAlgorithms, "shared_memory"),
     "on one node, each block is copied into shared memory, and no rank but the root waits for others", Condition::node_memory},
    {kAnyBytes, kAnyRanks, named(kIntergroupGatherAlgorithms, "linear"),
     "each block moves once, straight to the root, and no rank collects those of others"},
};

inline constexpr AlgorithmEntry kIntergroupReduceAlgorithms[] = {
    {.operation = OperationKind::intergroup_reduce,
     .name = "binomial",
     .aliases = {"bnom"},
     .algorithm = &intergroup_reduce_binomial,
     .summary = "the other group combines up a binomial tree in rank order; the root of the tree sends the result across",
     .paper = kMpiIntergroup,
     .cost = &cost::intergroup_reduce_binomial},
    {.operation = OperationKind::intergroup_reduce,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &intergroup_reduce_shared_memory,
     .summary = "the other group writes its elements into memory that the ranks of its node share; the root combines them there",
     .paper = kNodeMemory,
     .needs = Condition::node_memory | Condition::whole_pieces},
    {.operation = OperationKind::intergroup_reduce,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &intergroup_reduce_two_level,
     .summary = "each rank of a node combines a share; the ranks that have the same share reduce it to one node, and send it across",
     .paper = kMultiLane,
     .limits = "a rank that combines waits for the ranks of its group on its node",
     .needs = Condition::several_nodes | Condition::commutative | Condition::whole_pieces,
     .cost = &cost::intergroup_reduce_two_level},
};

inline constexpr Rule kIntergroupReduceRules[] = {
    {kAnyBytes, kAnyRanks, named(kIntergroupReduceAlgorithms, "shared_memory"),
     "on one node, each rank copies its elements into shared memory and leaves, and the root combines them there", Condition::node_memory},
    {kAnyBytes,
     kAnyRanks,
     named(kIntergroupReduceAlgorithms, "two_level"),
     "several ranks a node: they combine through its memory before anything leaves it, or in a tree, and the time decides",
     {},
     nullptr,
     {named(kIntergroupReduceAlgorithms, "binomial")}},
    {kAnyBytes, kAnyRanks, named(kIntergroupReduceAlgorithms, "binomial"), "a tree keeps the order of ranks, whatever is combined"},
};

inline constexpr AlgorithmEntry kIntergroupAllreduceAlgorithms[] = {
    {.operation = OperationKind::intergroup_allreduce,
     .name = "reduce_then_broadcast",
     .algorithm = &intergroup_allreduce_reduce_then_broadcast,
     .summary = "each group combines up a tree in rank order; the two roots exchange the results and broadcast what they got",
     .paper = kMpiIntergroup,
     .limits = "every rank waits for all ranks",
     .cost = &cost::intergroup_allreduce_binomial},
    {.operation = OperationKind::intergroup_allreduce,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &intergroup_allreduce_shared_memory,
     .summary = "each rank combines what the other group writes into memory that they share: all elements, or a share of many",
     .paper = kNodeMemory,
     .needs = Condition::node_memory | Condition::whole_pieces},
    {.operation = OperationKind::intergroup_allreduce,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &intergroup_allreduce_two_level,
     .summary = "each group combines its elements in shares to one node; these nodes exchange them, and pass on what they got",
     .paper = kMultiLane,
     .limits = "every rank waits for all ranks",
     .needs = Condition::several_nodes | Condition::commutative | Condition::whole_pieces,
     .cost = &cost::intergroup_allreduce_two_level},
};

inline constexpr Rule kIntergroupAllreduceRules[] = {
    {kAnyBytes, kAnyRanks, named(kIntergroupAllreduceAlgorithms, "shared_memory"),
     "on one node, elements are combined where they are published, and nothing is sent", Condition::node_memory},
    {kAnyBytes,
     kAnyRanks,
     named(kIntergroupAllreduceAlgorithms, "two_level"),
     "several ranks a node: elements leave a node and enter it once for all of its ranks, or go up and down a tree, and the time decides",
     {},
     nullptr,
     {named(kIntergroupAllreduceAlgorithms, "reduce_then_broadcast")}},
    {kAnyBytes, kAnyRanks, named(kIntergroupAllreduceAlgorithms, "reduce_then_broadcast"),
     "a tree in each group keeps the order of ranks, whatever is combined"},
};

inline constexpr AlgorithmEntry kIntergroupAlltoallAlgorithms[] = {
    {.operation = OperationKind::intergroup_alltoall,
     .name = "linear",
     .aliases = {"lin"},
     .algorithm = &intergroup_alltoall_linear,
     .summary = "each rank sends one block to each rank of the other group, beginning with the one of its own number",
     .paper = kMpiIntergroup,
     .cost = &cost::intergroup_alltoall_linear},
    {.operation = OperationKind::intergroup_alltoall,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &intergroup_alltoall_shared_memory,
     .summary = "each rank writes a block for each rank of the other group into memory that they share, and copies out its own blocks",
     .paper = kNodeMemory,
     .needs = Condition::node_memory},
    {.operation = OperationKind::intergroup_alltoall,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &intergroup_alltoall_two_level,
     .summary = "one rank of each node collects what the node sends to another node, as one message, and hands out what comes",
     .paper = kCheetah,
     .limits = "every rank of a node waits for all of its ranks; `auto` does not take it for blocks of different sizes",
     .needs = Condition::several_nodes,
     .cost = &cost::intergroup_alltoall_two_level},
};

inline constexpr Rule kIntergroupAlltoallRules[] = {
    {kAnyBytes, kAnyRanks, named(kIntergroupAlltoallAlgorithms, "shared_memory"),
     "on one node, each block is copied into shared memory, and each rank waits only for the other group", Condition::node_memory},
    {kLongestAlltoallOnTwoLevels,
     kAnyRanks,
     named(kIntergroupAlltoallAlgorithms, "two_level"),
     "blocks of up to 4 KiB, several ranks a node: fewer messages leave the node, or fewer copies are made, and the time decides",
     Condition::equal_blocks,
     nullptr,
     {named(kIntergroupAlltoallAlgorithms, "linear")}},
    {kAnyBytes, kAnyRanks, named(kIntergroupAlltoallAlgorithms, "linear"), "each block moves once, and lands early"},
};

}  // namespace rollcall::collectives
