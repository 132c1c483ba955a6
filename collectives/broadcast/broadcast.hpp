/// \file
/// The broadcast algorithms, one file each. Arguments: `data` on every rank (the root's is read, the others' are written), and
/// `segment_bytes`.
///
/// Notation of the files: n is the number of ranks, T the time that the message takes from one rank to another, and Delta the time from the
/// root's arrival to the last arrival. In the examples, a->b means that rank a sends to rank b, and "until t" means that the transfer ends
/// at time t.
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives {

Task broadcast_linear(Operation& op);
Task broadcast_binomial(Operation& op);
Task broadcast_pipelined(Operation& op);
Task broadcast_binary(Operation& op);
Task broadcast_scatter_allgather(Operation& op);
Task broadcast_circulant(Operation& op);
Task broadcast_arrival_blocking(Operation& op);
Task broadcast_arrival_nonblocking(Operation& op);
Task broadcast_shared_memory(Operation& op);
runtime::ShortMove short_move_of_broadcast(const runtime::Arguments& arguments, const runtime::Call& call, int rank, int ranks);
Task broadcast_two_level(Operation& op);
/// Needs `arguments().oracle`, the arrival times of all ranks. For simulations only.
Task broadcast_near_optimal(Operation& op);

inline constexpr AlgorithmEntry kBroadcastAlgorithms[] = {
    {.operation = OperationKind::broadcast,
     .name = "linear",
     .aliases = {"flat"},
     .algorithm = &broadcast_linear,
     .summary = "the root sends to each rank in turn",
     .paper = kPatarasukYuan,
     .runs_alone = true,
     .sends_awaited = SendsAwaited::all,
     .cost = &cost::broadcast_linear},
    {.operation = OperationKind::broadcast,
     .name = "binomial",
     .aliases = {"bnom"},
     .algorithm = &broadcast_binomial,
     .summary = "binomial tree; cut into segments only on request",
     .paper = kPatarasukYuan,
     .segmented = true,
     .whole_by_default = true,
     .runs_alone = true,
     .sends_awaited = SendsAwaited::rounds,
     .cost = &cost::broadcast_binomial},
    {.operation = OperationKind::broadcast,
     .name = "pipelined",
     .aliases = {"linear-p", "linear_p", "chain"},
     .algorithm = &broadcast_pipelined,
     .summary = "a chain of ranks that passes segments on",
     .paper = kPatarasukYuan,
     .segmented = true,
     .runs_alone = true,
     .sends_awaited = SendsAwaited::one,
     .cost = &cost::broadcast_chain},
    {.operation = OperationKind::broadcast,
     .name = "binary",
     .aliases = {"bintree"},
     .algorithm = &broadcast_binary,
     .summary = "a binary tree of ranks that pass segments on",
     .paper = kSandersSibeyn,
     .segmented = true,
     .runs_alone = true,
     .sends_awaited = SendsAwaited::two,
     .cost = &cost::broadcast_binary},
    {.operation = OperationKind::broadcast,
     .name = "scatter_allgather",
     .aliases = {"sca-all", "scatter-allgather"},
     .algorithm = &broadcast_scatter_allgather,
     .summary = "binomial scatter, then ring all-gather",
     .paper = "Thakur, Rabenseifner, Gropp: ANL/MCS-P1140-0304",
     .limits = "waits for all ranks, by its nature",
     .runs_alone = true},
    {.operation = OperationKind::broadcast,
     .name = "circulant",
     .aliases = {"circ"},
     .algorithm = &broadcast_circulant,
     .summary = "every rank sends and receives one segment in each round; the number of rounds is the least possible",
     .paper = "Träff: Optimal broadcast schedules in logarithmic time",
     .limits = "waits for all ranks, by its nature",
     .segmented = true,
     .runs_alone = true},
    {.operation = OperationKind::broadcast,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &broadcast_shared_memory,
     .summary = "the root writes the message into memory that the ranks of its node share, and leaves; the others copy it out",
     .paper = kNodeMemory,
     .needs = Condition::node_memory,
     .begins_early = true,
     .short_move = &short_move_of_broadcast},
    {.operation = OperationKind::broadcast,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &broadcast_two_level,
     .summary = "one rank of each node passes the message on to other nodes, and writes it into the memory that its node shares",
     .paper = kCheetah,
     .needs = Condition::several_nodes,
     .begins_early = true,
     .runs_alone = true},
    {.operation = OperationKind::broadcast,
     .name = "arrival_blocking",
     .aliases = {"arrival_b"},
     .algorithm = &broadcast_arrival_blocking,
     .summary = "the root serves the ranks that have arrived, with sub-group broadcasts; it chooses their form and pieces by the size",
     .paper = kPatarasukYuan,
     .segmented = true,
     .whole_by_default = true,
     .chooses_pieces = true},
    {.operation = OperationKind::broadcast,
     .name = "arrival_nonblocking",
     .aliases = {"arrival_nb"},
     .algorithm = &broadcast_arrival_nonblocking,
     .summary = "like arrival_blocking; while no rank has arrived, it sends ahead to ranks that have not",
     .paper = kPatarasukYuan,
     .limits = "sends ahead within the landing budget of the receivers",
     .segmented = true,
     .whole_by_default = true,
     .chooses_pieces = true},
    {.operation = OperationKind::broadcast,
     .name = "near_optimal",
     .aliases = {"nearopt"},
     .algorithm = &broadcast_near_optimal,
     .summary = "a chain in the order of arrival, which is known beforehand",
     .paper = kPatarasukYuan,
     .limits = "simulation only: it is told all arrival times",
     .needs = Condition::oracle},
};

/// Up to this size, in bytes, a tree or chain is faster than the arrival-aware broadcasts although its ranks wait for their callers: on 16
/// emulated hosts by up to 6 times if all come together, and hardly slower in any pattern up to 16 T.
inline constexpr std::uint64_t kMediumBroadcast = 128 << 10;

inline constexpr Rule kBroadcastRules[] = {
    {kAnyBytes, kAnyRanks, named(kBroadcastAlgorithms, "shared_memory"),
     "ranks of one node: the message is copied into shared memory once, and no rank waits for any but the root", Condition::node_memory},
    {kAnyBytes, 2, named(kBroadcastAlgorithms, "linear"), "one message, whatever the algorithm"},
    {8192, 8, named(kBroadcastAlgorithms, "linear"),
     "the message is carried along with its header: the root is done at once, and no rank waits for one that forwards"},
    {kAnyBytes, kAnyRanks, named(kBroadcastAlgorithms, "two_level"),
     "several ranks a node: the message enters each node once, whether its ranks have arrived or not, and is shared through its memory",
     Condition::background},
    {kShortBroadcast,
     kAnyRanks,
     named(kBroadcastAlgorithms, "binomial"),
     "a short message to many: each message is carried along with its header, and the lowest estimate decides",
     {},
     nullptr,
     {named(kBroadcastAlgorithms, "linear")}},
    {kAnyBytes,
     kAnyRanks,
     named(kBroadcastAlgorithms, "binomial"),
     "in each of these algorithms a late rank still passes the message on; the one with the lowest estimate runs, and the estimate "
     "includes how long the root's port is busy",
     Condition::background,
     &cost::broadcast_segment,
     {named(kBroadcastAlgorithms, "linear"), named(kBroadcastAlgorithms, "pipelined"), named(kBroadcastAlgorithms, "binary")}},
    {kMediumBroadcast, kAnyRanks, named(kBroadcastAlgorithms, "two_level"),
     "several ranks a node: the message enters each node once, and is shared through its memory"},
    {kMediumBroadcast,
     kAnyRanks,
     named(kBroadcastAlgorithms, "binomial"),
     "a message that takes less time than the notices and groups of the arrival-aware broadcasts, whoever is late; the lowest estimate "
     "decides",
     {},
     &cost::broadcast_segment,
     {named(kBroadcastAlgorithms, "linear"), named(kBroadcastAlgorithms, "pipelined"), named(kBroadcastAlgorithms, "binary")}},
    {kAnyBytes, kAnyRanks, named(kBroadcastAlgorithms, "arrival_nonblocking"),
     "a long message: whichever rank is late, no other one waits for more than two broadcasts to ranks that have arrived; in a fixed tree "
     "or chain a late rank stops all ranks behind it",
     Condition::landing},
    {kAnyBytes, kAnyRanks, named(kBroadcastAlgorithms, "arrival_blocking"),
     "a long message and no landing budget: nothing can be sent ahead, so the root serves the ranks that have arrived"},
};

}  // namespace rollcall::collectives
