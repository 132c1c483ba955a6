/// \file
/// The gather algorithms, one file each. Arguments: on every rank, `contribution` is its block. At the root, `data` is the place for the
/// blocks of all ranks in the order of ranks (the root's own block may be in its place there already). Also `segment_bytes`. All blocks
/// have the size call().bytes; or each has a size of its own, which the root has in `blocks`. Some algorithms need blocks of one size.
///
/// Notation of the files: P (or n) is the number of ranks. alpha is the time that it takes to begin a message. In the examples, a->b means
/// that rank a sends to rank b, and "until t" means that the transfer ends at time t.
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/two_level/passed_on.hpp"

namespace rollcall::collectives {

Task gather_linear(Operation& op);
Task gather_linear_synchronized(Operation& op);
Task gather_binomial(Operation& op);
Task gather_adaptive(Operation& op);
Task gather_optimal(Operation& op);
Task gather_sorted_optimal(Operation& op);
Task gather_sorted_optimal_planned(Operation& op);
Task gather_two_part(Operation& op);
Task gather_sorted_linear_synchronized(Operation& op);
Task gather_sorted_binomial(Operation& op);
Task gather_background_sorted_linear_synchronized(Operation& op);
Task gather_background_sorted_binomial(Operation& op);
Task gather_online_linear(Operation& op);
Task gather_shared_memory(Operation& op);
runtime::ShortMove short_move_of_gather(const runtime::Arguments& arguments, const runtime::Call& call, int rank, int ranks);
Task gather_two_level(Operation& op);

/// The blocks of the rank's subtree, if it has ranks below it (AlgorithmEntry::collects).
std::uint64_t gather_binomial_collects(std::uint64_t bytes, int root, int rank, int ranks);

inline constexpr AlgorithmEntry kGatherAlgorithms[] = {
    {.operation = OperationKind::gather,
     .name = "linear",
     .aliases = {"lin"},
     .algorithm = &gather_linear,
     .summary = "each rank sends its block to the root, and no rank forwards",
     .paper = kProficz,
     .runs_alone = true,
     .sends_awaited = SendsAwaited::all,
     .cost = &cost::linear},
    {.operation = OperationKind::gather,
     .name = "linear_synchronized",
     .aliases = {"ls"},
     .algorithm = &gather_linear_synchronized,
     .summary = "the root calls each rank in turn; a block comes in two pieces",
     .paper = kProficz,
     .segmented = true,
     .whole_by_default = true},
    {.operation = OperationKind::gather,
     .name = "binomial",
     .aliases = {"bnom"},
     .algorithm = &gather_binomial,
     .summary = "halving tree: a rank that has the blocks of its subtree sends them on",
     .paper = kProficz,
     .runs_alone = true,
     .sends_awaited = SendsAwaited::one,
     .cost = &cost::binomial_of_blocks,
     .collects = &gather_binomial_collects},
    {.operation = OperationKind::gather,
     .name = "adaptive",
     .aliases = {"tuw"},
     .algorithm = &gather_adaptive,
     .summary = "binomial tree that its ranks build, the part with less data below the one with more; long blocks go straight",
     .paper = kTraeff,
     .begins_early = true},
    {.operation = OperationKind::gather,
     .name = "optimal",
     .algorithm = &gather_optimal,
     .summary = "the best ordered tree for the sizes of the blocks, which the root finds and sends",
     .paper = kTraeff,
     .limits = "beyond 256 ranks the adaptive tree",
     .begins_early = true},
    {.operation = OperationKind::gather,
     .name = "sorted_optimal",
     .algorithm = &gather_sorted_optimal,
     .summary = "the best tree in the order of ranks, of sizes or of predicted arrivals, which the root finds and sends",
     .paper = "Our own, after Träff and Proficz",
     .limits = "beyond 256 ranks the adaptive tree",
     .when_planned = &gather_sorted_optimal_planned},
    {.operation = OperationKind::gather,
     .name = "two_part",
     .aliases = {"two"},
     .algorithm = &gather_two_part,
     .summary = "a tree of the ranks with small blocks, one of those with large blocks, and one message between the two",
     .paper = kTraeff,
     .limits = "for blocks of two sizes; beyond 32767 ranks the adaptive tree",
     .begins_early = true},
    {.operation = OperationKind::gather,
     .name = "sorted_linear_synchronized",
     .aliases = {"sls"},
     .algorithm = &gather_sorted_linear_synchronized,
     .summary = "the root calls each rank in the order of arrival",
     .paper = kProficz,
     .segmented = true,
     .whole_by_default = true,
     .begins_early = true},
    {.operation = OperationKind::gather,
     .name = "sorted_binomial",
     .aliases = {"sbn"},
     .algorithm = &gather_binomial,
     .summary = "halving tree; ranks that come late stand near the root",
     .paper = kProficz,
     .limits = "for planned calls: the root tells each rank its place before it arrives, or when it arrives itself if it has not been told "
               "all arrivals by then, which doubles the messages; without a plan it is like binomial",
     .needs = Condition::equal_blocks,
     .when_planned = &gather_sorted_binomial},
    {.operation = OperationKind::gather,
     .name = "background_sorted_linear_synchronized",
     .aliases = {"bsls", "bls"},
     .algorithm = &gather_background_sorted_linear_synchronized,
     .summary = "like sorted_linear_synchronized; a planned root calls before its caller arrives",
     .paper = kProficz,
     .segmented = true,
     .whole_by_default = true,
     .begins_early = true},
    {.operation = OperationKind::gather,
     .name = "background_sorted_binomial",
     .aliases = {"bsbn"},
     .algorithm = &gather_binomial,
     .summary = "like sorted_binomial; planned calls collect before their caller arrives",
     .paper = kProficz,
     .limits = "those of sorted_binomial",
     .needs = Condition::equal_blocks,
     .when_planned = &gather_background_sorted_binomial},
    {.operation = OperationKind::gather,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &gather_shared_memory,
     .summary =
         "each rank writes its block into memory that the ranks of its node share, and leaves; the root copies them out as they come",
     .paper = kNodeMemory,
     .needs = Condition::node_memory,
     .begins_early = true,
     .short_move = &short_move_of_gather},
    {.operation = OperationKind::gather,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &gather_two_level,
     .summary = "one rank of each node collects the node's blocks through the memory that it shares, and sends them as one message",
     .paper = kCheetah,
     .needs = Condition::several_nodes | Condition::equal_blocks,
     .begins_early = true,
     .runs_alone = true,
     .passes_on = &blocks_of_its_node,
     .only_publishes = &has_another_leader},
    {.operation = OperationKind::gather,
     .name = "online_linear",
     .algorithm = &gather_online_linear,
     .summary = "the root calls the ranks that have arrived, and no others",
     .paper = "Our own, after Patarasuk, Yuan and Proficz",
     .segmented = true,
     .whole_by_default = true,
     .begins_early = true},
};

inline constexpr Rule kGatherRules[] = {
    {kAnyBytes, kAnyRanks, named(kGatherAlgorithms, "shared_memory"),
     "ranks of one node: each block is copied into shared memory, and no rank but the root waits for others", Condition::node_memory},
    {kAnyBytes, 2, named(kGatherAlgorithms, "linear"), "one message, whatever the algorithm"},
    {8192, 8, named(kGatherAlgorithms, "linear"),
     "each block is carried along with its header: its sender is done at once, and no rank waits for one that forwards"},
    {8192, 64, named(kGatherAlgorithms, "linear"), "each block goes straight to the root; its sender is done at once",
     Condition::background},
    {8192,
     kAnyRanks,
     named(kGatherAlgorithms, "binomial"),
     "short blocks of many ranks: n - 1 messages enter the root, or log2 n longer ones, and the lowest estimate decides",
     {},
     nullptr,
     {named(kGatherAlgorithms, "linear")}},
    {kAnyBytes, kAnyRanks, named(kGatherAlgorithms, "linear"),
     "blocks that are long, or of sizes that only the root knows: each goes straight to the root, and lands there early if the root has "
     "not come",
     Condition::background | Condition::called},
    {256 << 10, kAnyRanks, named(kGatherAlgorithms, "linear"),
     "each block goes straight to the root, and lands there early if the root is not ready for it: that takes less time than to call the "
     "ranks in turn",
     Condition::landing | Condition::called},
    {kAnyBytes, kAnyRanks, named(kGatherAlgorithms, "background_sorted_linear_synchronized"),
     "blocks that are long, or of sizes that only the root knows: the root's port takes the time, so each block moves once, straight to "
     "its place, as its rank arrives"},
};

}  // namespace rollcall::collectives
