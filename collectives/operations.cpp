#include "collectives/operations.hpp"

#include <algorithm>

#include "collectives/allgather/allgather.hpp"
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/alltoall/alltoall.hpp"
#include "collectives/barrier/barrier.hpp"
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/gather/gather.hpp"
#include "collectives/intergroup/tables.hpp"
#include "collectives/reduce/reduce.hpp"
#include "collectives/reduce_scatter/reduce_scatter.hpp"
#include "collectives/scan/scan.hpp"
#include "collectives/scatter/scatter.hpp"

namespace rollcall::collectives {
namespace {

constexpr OperationRow kRows[] = {
    {.kind = OperationKind::broadcast,
     .data = {.reads = RankSet::root, .writes = RankSet::others, .extent = Extent::message},
     .reaches = "to",
     .algorithms = kBroadcastAlgorithms,
     .rules = kBroadcastRules},
    {.kind = OperationKind::scatter,
     .data = {.reads = RankSet::root, .extent = Extent::blocks},
     .result = {.writes = RankSet::everybody, .extent = Extent::block, .only_copies = RankSet::root},
     .reaches = "to each of",
     .algorithms = kScatterAlgorithms,
     .rules = kScatterRules},
    {.kind = OperationKind::gather,
     .contribution = {.reads = RankSet::everybody, .extent = Extent::block},
     .data = {.writes = RankSet::root, .extent = Extent::blocks},
     .reaches = "from each of",
     .algorithms = kGatherAlgorithms,
     .rules = kGatherRules},
    {.kind = OperationKind::allgather,
     .contribution = {.reads = RankSet::everybody, .extent = Extent::block},
     .data = {.writes = RankSet::everybody, .extent = Extent::blocks},
     .reaches = "from each of",
     .algorithms = kAllgatherAlgorithms,
     .rules = kAllgatherRules},
    {.kind = OperationKind::alltoall,
     .contribution = {.reads = RankSet::everybody, .extent = Extent::blocks},
     .data = {.writes = RankSet::everybody, .extent = Extent::blocks},
     .personalized = true,
     .reaches = "from each to each of",
     .algorithms = kAlltoallAlgorithms,
     .rules = kAlltoallRules},
    {.kind = OperationKind::reduce,
     .contribution = {.reads = RankSet::everybody, .extent = Extent::message},
     .data = {.writes = RankSet::root, .extent = Extent::message},
     .combines = true,
     .reaches = "of",
     .algorithms = kReduceAlgorithms,
     .rules = kReduceRules},
    {.kind = OperationKind::allreduce,
     .contribution = {.reads = RankSet::everybody, .extent = Extent::message},
     .data = {.writes = RankSet::everybody, .extent = Extent::message},
     .combines = true,
     .reaches = "of",
     .algorithms = kAllreduceAlgorithms,
     .rules = kAllreduceRules},
    {.kind = OperationKind::reduce_scatter,
     .contribution = {.reads = RankSet::everybody, .extent = Extent::blocks},
     .data = {.writes = RankSet::everybody, .extent = Extent::block},
     .combines = true,
     .reaches = "to each of",
     .algorithms = kReduceScatterAlgorithms,
     .rules = kReduceScatterRules},
    {.kind = OperationKind::scan,
     .contribution = {.reads = RankSet::everybody, .extent = Extent::message},
     .data = {.writes = RankSet::everybody, .extent = Extent::message},
     .combines = true,
     .prefix = Prefix::inclusive,
     .reaches = "of",
     .algorithms = kScanAlgorithms,
     .rules = kScanRules},
    {.kind = OperationKind::exclusive_scan,
     .contribution = {.reads = RankSet::everybody, .extent = Extent::message},
     .data = {.writes = RankSet::everybody, .extent = Extent::message},
     .combines = true,
     .prefix = Prefix::exclusive,
     .reaches = "of",
     .algorithms = kExclusiveScanAlgorithms,
     .rules = kExclusiveScanRules},
    {.kind = OperationKind::barrier, .reaches = "of", .algorithms = kBarrierAlgorithms, .rules = kBarrierRules},
    // Between two groups:
    {.kind = OperationKind::intergroup_allgather,
     .contribution = {.reads = RankSet::everybody, .extent = Extent::block},
     .data = {.writes = RankSet::everybody, .extent = Extent::blocks},
     .reaches = "between groups of",
     .algorithms = kIntergroupAllgatherAlgorithms,
     .rules = kIntergroupAllgatherRules},
    {.kind = OperationKind::intergroup_broadcast,
     .data = {.reads = RankSet::root, .writes = RankSet::others, .extent = Extent::message},
     .reaches = "among",
     .algorithms = kIntergroupBroadcastAlgorithms,
     .rules = kIntergroupBroadcastRules},
    {.kind = OperationKind::intergroup_scatter,
     .data = {.reads = RankSet::root, .extent = Extent::blocks},
     .result = {.writes = RankSet::others, .extent = Extent::block},
     .reaches = "among",
     .algorithms = kIntergroupScatterAlgorithms,
     .rules = kIntergroupScatterRules},
    {.kind = OperationKind::intergroup_gather,
     .contribution = {.reads = RankSet::others, .extent = Extent::block},
     .data = {.writes = RankSet::root, .extent = Extent::blocks},
     .reaches = "among",
     .algorithms = kIntergroupGatherAlgorithms,
     .rules = kIntergroupGatherRules},
    {.kind = OperationKind::intergroup_reduce,
     .contribution = {.reads = RankSet::others, .extent = Extent::message},
     .data = {.writes = RankSet::root, .extent = Extent::message},
     .combines = true,
     .reaches = "among",
     .algorithms = kIntergroupReduceAlgorithms,
     .rules = kIntergroupReduceRules},
    {.kind = OperationKind::intergroup_allreduce,
     .contribution = {.reads = RankSet::everybody, .extent = Extent::message},
     .data = {.writes = RankSet::everybody, .extent = Extent::message},
     .combines = true,
     .reaches = "between groups of",
     .algorithms = kIntergroupAllreduceAlgorithms,
     .rules = kIntergroupAllreduceRules},
    {.kind = OperationKind::intergroup_alltoall,
     .contribution = {.reads = RankSet::everybody, .extent = Extent::blocks},
     .data = {.writes = RankSet::everybody, .extent = Extent::blocks},
     .personalized = true,
     .reaches = "between groups of",
     .algorithms = kIntergroupAlltoallAlgorithms,
     .rules = kIntergroupAlltoallRules},
};
constexpr std::size_t kBetweenGroups = 7;  // they are the last rows
static_assert(kRows[std::size(kRows) - kBetweenGroups].kind == OperationKind::intergroup_allgather,
              "operations between two groups are the last ones");

constexpr bool all_rows(auto predicate) { return std::all_of(std::begin(kRows), std::end(kRows), predicate); }
static_assert(all_rows([](const OperationRow& row) { return are_complete(row.algorithms, row.kind); }),
              "an algorithm has no code, no summary, or stands with another operation than it says");
static_assert(all_rows([](const OperationRow& row) { return names_are_unique(row.algorithms); }),
              "a name or alias means two algorithms of an operation");
static_assert(all_rows([](const OperationRow& row) { return numbers_are_unique(row.algorithms); }),
              "two names of an operation's algorithms have the same hash: rename one");
static_assert(all_rows([](const OperationRow& row) { return are_enough(row.rules); }),
              "an operation has calls without a rule, or a rule without a reason");
static_assert(all_rows([](const OperationRow& row) { return can_compare(row.rules, row.has_own_sizes); }),
              "a rule compares algorithms without an estimate, or with more needs than it asks for; or too many rules compare");

constexpr std::size_t kNoRow = std::size(kRows);
/// The index of each kind's row in the table.
constexpr auto kRowOf = [] {
    std::array<std::size_t, kOperationKinds> places{};
    places.fill(kNoRow);
    for (std::size_t i = 0; i < std::size(kRows); ++i) places[index_of(kRows[i].kind)] = i;
    return places;
}();
static_assert(std::all_of(kOperationNames.begin(), kOperationNames.end(),
                          [](const auto& known) { return known.setting.empty() == (kRowOf[index_of(known.kind)] == kNoRow); }),
              "operations with a row and operations with a setting (foundation/operation_kind.hpp) are not the same");

}  // namespace

const OperationRow& operation(OperationKind kind) noexcept { return kRows[kRowOf[index_of(kind)]]; }

const OperationRow* find_operation(std::string_view wanted) noexcept {
    const auto rows = operations();
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const OperationRow& row) { return name(row.kind) == wanted; });
    return found == rows.end() ? nullptr : &*found;
}

std::span<const OperationRow> all_operations() noexcept { return kRows; }
std::span<const OperationRow> operations() noexcept { return std::span(kRows).first(std::size(kRows) - kBetweenGroups); }
std::span<const OperationRow> intergroup_operations() noexcept { return std::span(kRows).last(kBetweenGroups); }

}  // namespace rollcall::collectives
