/// \file
/// The scatter algorithms, one file each. Arguments: at the root, `data` holds the blocks of all ranks in the order of ranks, and is only
/// read. On every rank, `result` is the place for its block (at the root it may be its place in `data`). All blocks have the size
/// call().bytes; or each has a size of its own, which the root has in `blocks`. Some algorithms need blocks of one size.
///
/// Notation of the files: P (or n) is the number of ranks. In the examples, a->b means that rank a sends to rank b, and "until t" means
/// that the transfer ends at time t.
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/two_level/passed_on.hpp"

namespace rollcall::collectives {

Task scatter_linear(Operation& op);
Task scatter_binomial(Operation& op);
Task scatter_adaptive(Operation& op);
Task scatter_optimal(Operation& op);
Task scatter_sorted_optimal(Operation& op);
Task scatter_two_part(Operation& op);
Task scatter_sorted_linear(Operation& op);
Task scatter_sorted_binomial(Operation& op);
Task scatter_background_sorted_linear(Operation& op);
Task scatter_background_sorted_binomial(Operation& op);
Task scatter_online_linear(Operation& op);
std::uint64_t scatter_binomial_passes_on(std::uint64_t bytes, int root, int rank, const runtime::Group& group);
Task scatter_shared_memory(Operation& op);
runtime::ShortMove short_move_of_scatter(const runtime::Arguments& arguments, const runtime::Call& call, int rank, int ranks);
/// The root's part of scatter_shared_memory(), for blocks in `data` that do not wait for the caller.
Task scatter_from_here(Operation& op);
Task scatter_two_level(Operation& op);

inline constexpr AlgorithmEntry kScatterAlgorithms[] = {
    {.operation = OperationKind::scatter,
     .name = "linear",
     .aliases = {"lin"},
     .algorithm = &scatter_linear,
     .summary = "the root sends to each rank in turn",
     .paper = kProficz,
     .runs_alone = true,
     .sends_awaited = SendsAwaited::all,
     .cost = &cost::linear},
    {.operation = OperationKind::scatter,
     .name = "binomial",
     .aliases = {"bnom"},
     .algorithm = &scatter_binomial,
     .summary = "halving tree: a rank that has blocks of others passes half of them on",
     .paper = kProficz,
     .runs_alone = true,
     .sends_awaited = SendsAwaited::all,
     .cost = &cost::binomial_of_blocks,
     .passes_on = &scatter_binomial_passes_on},
    {.operation = OperationKind::scatter,
     .name = "adaptive",
     .aliases = {"tuw"},
     .algorithm = &scatter_adaptive,
     .summary = "binomial tree that its ranks build, the part with less data below the one with more; long blocks go straight",
     .paper = kTraeff,
     .begins_early = true},
    {.operation = OperationKind::scatter,
     .name = "optimal",
     .algorithm = &scatter_optimal,
     .summary = "the best ordered tree for the sizes of the blocks, which the root finds and sends",
     .paper = kTraeff,
     .limits = "beyond 256 ranks the adaptive tree",
     .begins_early = true},
    {.operation = OperationKind::scatter,
     .name = "sorted_optimal",
     .algorithm = &scatter_sorted_optimal,
     .summary = "the best tree in the order of ranks or of sizes, which the root finds and sends",
     .paper = "Our own, after Träff and Proficz",
     .limits = "beyond 256 ranks the adaptive tree",
     .begins_early = true},
    {.operation = OperationKind::scatter,
     .name = "two_part",
     .aliases = {"two"},
     .algorithm = &scatter_two_part,
     .summary = "a tree of the ranks with small blocks, one of those with large blocks, and one message between the two",
     .paper = kTraeff,
     .limits = "for blocks of two sizes; beyond 32767 ranks the adaptive tree",
     .begins_early = true},
    {.operation = OperationKind::scatter,
     .name = "sorted_linear",
     .aliases = {"slin", "sln"},
     .algorithm = &scatter_sorted_linear,
     .summary = "the root sends to each rank in the order of arrival",
     .paper = kProficz,
     .begins_early = true},
    {.operation = OperationKind::scatter,
     .name = "sorted_binomial",
     .aliases = {"sbn"},
     .algorithm = &scatter_binomial,
     .summary = "halving tree; ranks that come early stand near the root",
     .paper = kProficz,
     .limits = "for planned calls: the root tells each rank its place before it arrives, or when it arrives itself if it has not been told "
               "all arrivals by then, which doubles the messages; without a plan it is like binomial",
     .needs = Condition::equal_blocks,
     .when_planned = &scatter_sorted_binomial},
    {.operation = OperationKind::scatter,
     .name = "background_sorted_linear",
     .aliases = {"bsln"},
     .algorithm = &scatter_background_sorted_linear,
     .summary = "like sorted_linear; planned calls receive before their caller arrives",
     .paper = kProficz,
     .begins_early = true},
    {.operation = OperationKind::scatter,
     .name = "background_sorted_binomial",
     .aliases = {"bsbn"},
     .algorithm = &scatter_binomial,
     .summary = "like sorted_binomial; planned calls receive and forward before their caller arrives",
     .paper = kProficz,
     .limits = "those of sorted_binomial",
     .needs = Condition::equal_blocks,
     .when_planned = &scatter_background_sorted_binomial},
    {.operation = OperationKind::scatter,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &scatter_shared_memory,
     .summary = "the root writes the blocks into memory that the ranks of its node share, and leaves; the others copy theirs out",
     .paper = kNodeMemory,
     .needs = Condition::node_memory,
     .begins_early = true,
     .short_move = &short_move_of_scatter},
    {.operation = OperationKind::scatter,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &scatter_two_level,
     .summary = "the root sends each node the blocks of its ranks; one of them writes the blocks into the memory that its node shares",
     .paper = kCheetah,
     .needs = Condition::several_nodes | Condition::equal_blocks,
     .begins_early = true,
     .runs_alone = true,
     .sends_awaited = SendsAwaited::all,
     .cost = &cost::two_level_of_blocks,
     .passes_on = &blocks_of_its_node},
    {.operation = OperationKind::scatter,
     .name = "online_linear",
     .algorithm = &scatter_online_linear,
     .summary = "the root sends to the ranks that have arrived, and sends ahead while no rank waits",
     .paper = "Our own, after Patarasuk, Yuan and Proficz",
     .limits = "sends ahead within the landing budget of the receivers",
     .begins_early = true},
};

inline constexpr Rule kScatterRules[] = {
    {kAnyBytes, kAnyRanks, named(kScatterAlgorithms, "shared_memory"),
     "ranks of one node: each block is copied into shared memory, and no rank waits for any rank but the root", Condition::node_memory},
    {kAnyBytes, 2, named(kScatterAlgorithms, "linear"), "one message, whatever the algorithm"},
    {8192,
     kAnyRanks,
     named(kScatterAlgorithms, "two_level"),
     "short blocks for several ranks of each node: one message for each node, n - 1 messages, or log2 n longer ones, and the lowest "
     "estimate decides",
     Condition::background,
     nullptr,
     {named(kScatterAlgorithms, "linear"), named(kScatterAlgorithms, "binomial")}},
    {8192, 8, named(kScatterAlgorithms, "linear"),
     "each block is carried along with its header: the root is done at once, and no rank waits for one that forwards"},
    {8192,
     kAnyRanks,
     named(kScatterAlgorithms, "binomial"),
     "short blocks for many ranks: n - 1 messages leave the root, or log2 n longer ones, and the lowest estimate decides",
     {},
     nullptr,
     {named(kScatterAlgorithms, "linear")}},
    {kAnyBytes, kAnyRanks, named(kScatterAlgorithms, "linear"),
     "blocks that are long, or of sizes that only the root knows: each moves once, and lands early at a rank that has not come, so no rank "
     "waits for a late one",
     Condition::background | Condition::called},
    {128 << 10, kAnyRanks, named(kScatterAlgorithms, "linear"),
     "each block moves once, and lands early at a rank that has not come: notices of arrival would take more time than they save",
     Condition::landing | Condition::called},
    {kAnyBytes, kAnyRanks, named(kScatterAlgorithms, "online_linear"),
     "blocks that are long, or of sizes that only the root knows: the root's port takes the time, so each block moves once, and first to "
     "ranks that wait for it"},
};

}  // namespace rollcall::collectives
