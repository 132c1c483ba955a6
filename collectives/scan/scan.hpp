/// \file
/// The algorithms of both scans, inclusive and exclusive, one file each. Arguments: `contribution` holds this rank's elements. `data` is
/// the place for the combined elements of the ranks up to this one (exclusive: of the ranks before it; at rank 0 it stays as it is). The
/// contribution may be there already. Also `combiner`. All algorithms combine in rank order, in an order that the arrivals do not change.
///
/// Notation of the files: P (or n) is the number of ranks. a, b, c, ... are the elements of ranks 0, 1, 2, ... In the examples, a->b means
/// that rank a sends to rank b, and "until t" means that the transfer ends at time t.
#pragma once

#include <iterator>

#include "collectives/algorithm.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives {

Task scan_linear(Operation& op);
Task scan_recursive_doubling(Operation& op);
Task scan_shared_memory(Operation& op);
Task scan_two_level(Operation& op);

inline bool is_exclusive(const Operation& op) { return op.call().kind == OperationKind::exclusive_scan; }

/// Whether the contribution is in the place of the result.
inline bool is_in_place(const Operation& op) {
    return op.arguments().data.data && op.arguments().contribution.data == op.arguments().data.data;
}

inline constexpr AlgorithmEntry kScanAlgorithms[] = {
    {.operation = OperationKind::scan,
     .name = "linear",
     .aliases = {"lin", "chain"},
     .algorithm = &scan_linear,
     .summary = "a chain of ranks; each combines pieces with its own and passes them on",
     .limits = "a rank waits for all ranks before it, as the operation demands",
     .segmented = true,
     .cost = &cost::chain_combining},
    {.operation = OperationKind::scan,
     .name = "recursive_doubling",
     .aliases = {"rd"},
     .algorithm = &scan_recursive_doubling,
     .summary = "log2 n steps; in each, a rank sends what it has to a rank twice as far away as in the step before",
     .paper = "Hillis, Steele: Data parallel algorithms",
     .limits = "a rank waits for all ranks before it, as the operation demands",
     .cost = &cost::scan_recursive_doubling},
    {.operation = OperationKind::scan,
     .name = "shared_memory",
     .aliases = {"shm"},
     .algorithm = &scan_shared_memory,
     .summary = "each rank writes its elements into memory that the ranks of its node share; the ranks after it combine them there",
     .paper = kNodeMemory,
     .limits = "a rank waits for all ranks before it, as the operation demands",
     .needs = Condition::node_memory | Condition::whole_pieces},
    {.operation = OperationKind::scan,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &scan_two_level,
     .summary = "a scan within each node through its memory; the last ranks of the nodes send what nodes have, as recursive_doubling does",
     .paper = kCheetah,
     .limits = "a rank waits for all ranks before it, as the operation demands; if the ranks of a node do not follow one another, it is "
               "recursive_doubling or linear",
     .needs = Condition::several_nodes | Condition::whole_pieces,
     .cost = &cost::scan_two_level},
};

/// On several nodes, `auto` takes no two levels for more elements than this, in bytes, whatever the estimates say. With 4 ranks on each of 4
/// nodes, two levels took 0.5 times as long as `linear` at 16 KiB and 1.2 times at 64 KiB (docs/performance/several-nodes.md).
inline constexpr std::uint64_t kLongestScanOnTwoLevels = 32 << 10;

inline constexpr Rule kScanRules[] = {
    {kAnyBytes, kAnyRanks, named(kScanAlgorithms, "shared_memory"),
     "on one node, each rank copies its elements into shared memory once, and they are combined there", Condition::node_memory},
    {kLongestScanOnTwoLevels,
     kAnyRanks,
     named(kScanAlgorithms, "two_level"),
     "up to 32 KiB, several ranks a node: each link carries the elements few times, or pieces go down a chain, and the lowest estimate "
     "decides",
     {},
     &cost::chain_segment,
     {named(kScanAlgorithms, "recursive_doubling"), named(kScanAlgorithms, "linear")}},
    {kAnyBytes,
     kAnyRanks,
     named(kScanAlgorithms, "recursive_doubling"),
     "log2 n steps of all elements, or pieces down a chain in which each rank combines once, and the lowest estimate decides",
     {},
     &cost::chain_segment,
     {named(kScanAlgorithms, "linear")}},
};

// The exclusive scan has the same algorithms and rules.
constexpr AlgorithmEntry exclusive(AlgorithmEntry entry) {
    entry.operation = OperationKind::exclusive_scan;
    return entry;
}
inline constexpr AlgorithmEntry kExclusiveScanAlgorithms[] = {exclusive(kScanAlgorithms[0]), exclusive(kScanAlgorithms[1]),
                                                              exclusive(kScanAlgorithms[2]), exclusive(kScanAlgorithms[3])};
constexpr Rule exclusive(Rule rule) {
    const auto its = [](const AlgorithmEntry* entry) { return kExclusiveScanAlgorithms + (entry - kScanAlgorithms); };
    rule.algorithm = its(rule.algorithm);
    rule.others = rule.others.each(its);
    return rule;
}
inline constexpr Rule kExclusiveScanRules[] = {exclusive(kScanRules[0]), exclusive(kScanRules[1]), exclusive(kScanRules[2])};
static_assert(std::size(kExclusiveScanAlgorithms) == std::size(kScanAlgorithms) && std::size(kExclusiveScanRules) == std::size(kScanRules));

}  // namespace rollcall::collectives
