#include "collectives/catalogue.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rollcall/error.hpp>

#include "collectives/pieces.hpp"
#include "foundation/reductions.hpp"

namespace rollcall::collectives {
namespace {

struct Need {
    Condition condition;
    std::string_view words;
};
constexpr Need kNeeds[] = {
    {Condition::oracle, "runs in simulations only (rollcall simulate)"},
    {Condition::landing, "needs a landing budget (ROLLCALL_LANDING_BYTES)"},
    {Condition::shared_boards, "needs ranks of one node that share memory, with slots on the arrivals board (ROLLCALL_BOARD_SLOTS)"},
    {Condition::node_memory,
     "needs ranks of one node that share memory (ROLLCALL_NODE_MEMORY), with slots on the arrivals board (ROLLCALL_BOARD_SLOTS)"},
    {Condition::several_nodes,
     "needs ranks on several nodes, some of which share memory (ROLLCALL_NODE_MEMORY), with slots on the arrivals board "
     "(ROLLCALL_BOARD_SLOTS)"},
    {Condition::equal_blocks, "needs blocks of one size"},
    {Condition::background, "needs calls that go on without their callers (ROLLCALL_DECOUPLE and a landing budget)"},
    {Condition::commutative, "needs an operation that commutes"},
    {Condition::any_order, "combines in the order of arrival, but this call must give the same result in any order"},
    {Condition::whole_pieces, "needs elements of at most 64 KiB each"},
    {Condition::even_nodes, "needs nodes none of which has less than half as many of the ranks as another one"},
    {Condition::called, "does not run in plans"},
};
static_assert(std::accumulate(std::begin(kNeeds), std::end(kNeeds), Conditions(),
                              [](Conditions named, const Need& need) { return named.with(need.condition); })
                  .contains(kReal | Condition::oracle),
              "a condition has no words");

/// Returns null when no algorithm of this operation has this number.
const AlgorithmEntry* entry_of(OperationKind kind, std::uint16_t number) noexcept {
    for (const OperationRow& row : all_operations())
        if (row.kind == kind)
            for (const AlgorithmEntry& entry : row.algorithms)
                if (entry.number == number) return &entry;
    return nullptr;
}

/// Whether messages of other ranks come to this rank. On two levels they come to the lowest rank of each node.
bool has_messages(const AlgorithmEntry& entry, int rank, const runtime::Group& group) {
    if (!entry.needs.contains(Condition::several_nodes)) return true;
    const runtime::Nodes* const nodes = group.nodes.get();
    return nodes && nodes->members[static_cast<std::size_t>(nodes->of[static_cast<std::size_t>(rank)])].front() == rank;
}

/// The memory for what other ranks bring to this one.
std::uint64_t brought_to(const AlgorithmEntry& entry, const runtime::Call& call, int rank, int ranks) {
    if (!entry.collects || rank == call.root) return 0;
    return entry.collects(call.bytes, call.root, rank, ranks);
}

}  // namespace

std::string_view need_in_words(Conditions missing) {
    return std::find_if(std::begin(kNeeds), std::end(kNeeds), [&](const Need& need) { return missing.contains(need.condition); })->words;
}

std::vector<std::string_view> algorithm_names(const OperationRow& row, Conditions has) {
    std::vector<std::string_view> names;
    for (const AlgorithmEntry& entry : row.algorithms)
        if (has.contains(entry.needs)) names.push_back(entry.name);
    return names;
}

const AlgorithmEntry& find_algorithm(const OperationRow& row, std::string_view name, Conditions has) {
    const auto entry =
        std::find_if(row.algorithms.begin(), row.algorithms.end(), [&](const AlgorithmEntry& one) { return one.is_called(name); });
    if (entry != row.algorithms.end() && has.contains(entry->needs)) return *entry;
    const std::string allowed = fmt::format("allowed: auto, {}", fmt::join(algorithm_names(row, has), ", "));
    if (entry == row.algorithms.end())
        throw Error(ErrorCode::invalid_argument, fmt::format("unknown {} algorithm '{}'; {}", runtime::name(row.kind), name, allowed));
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} algorithm '{}' {}; {}", runtime::name(row.kind), name, need_in_words(entry->needs.without(has)), allowed));
}

const AlgorithmEntry* algorithm_of_setting(const OperationRow& row, std::string_view name) {
    if (name == "auto") return nullptr;
    try {
        return &find_algorithm(row, name, kReal);
    } catch (const Error& error) {
        throw Error(ErrorCode::invalid_setting, fmt::format("{}: {}", kOperationNames[index_of(row.kind)].setting, error.what()));
    }
}

void judge_algorithms(Settings& settings, std::vector<SettingTrouble>& troubles) {
    for (const OperationRow& row : all_operations()) {
        std::string& name = settings.algorithms[index_of(row.kind)];
        try {
            algorithm_of_setting(row, name);
        } catch (const Error& error) {
            const std::string variable(kOperationNames[index_of(row.kind)].setting);
            troubles.push_back({.variable = variable, .value = name, .sentence = error.what()});
            name = Settings().algorithms[index_of(row.kind)];
        }
    }
}

std::string_view algorithm_name(OperationKind kind, std::uint16_t number) noexcept {
    const AlgorithmEntry* const entry = entry_of(kind, number);
    return entry ? entry->name : "an unknown algorithm";
}

Contributed contributed(const OperationRow& row, const AlgorithmEntry& entry, const CostInput& cost_input, bool is_root) {
    if (row.data.extent != Extent::blocks || !row.data.is_had(is_root)) return {1, wait_for(entry.sends_awaited, cost_input, is_root, 0)};
    const bool has_own_block = !runtime::is_between_groups(row.kind);
    const int leaving = cost_input.ranks - 1, blocks = has_own_block ? cost_input.ranks : leaving;
    return {blocks, wait_for(entry.sends_awaited, cost_input, is_root, blocks > 0 ? static_cast<double>(leaving) / blocks : 0)};
}

runtime::PartAlone part_alone(const runtime::Call& call, int rank, const runtime::Group& group) noexcept {
    int ranks = group.size;
    const AlgorithmEntry* const entry = entry_of(call.kind, call.algorithm);
    if (entry && entry->forwards && has_messages(*entry, rank, group))
        return {.algorithm = entry->algorithm, .begins_before = true, .forwards = true};
    if (!entry || !entry->runs_alone) return {};
    const OperationRow& row = operation(call.kind);
    const bool is_root = rank == call.root;
    if (runtime::is_between_groups(call.kind)) {
        // Between two groups, the other ranks of the root's group have no part. The root counts only the blocks of the other group.
        const bool of_first = rank < group.first_group;
        if (call.own_sizes || (!is_root && of_first == (call.root < group.first_group))) return {};
        ranks = of_first == is_root ? group.size - group.first_group : group.first_group;
    }
    runtime::PartAlone part{.algorithm = entry->algorithm, .begins_before = true, .ends_after = true};
    const auto size_of = [&](const Operand& operand) -> std::uint64_t {
        if (!operand.is_had(is_root)) return 0;
        const Part where = part_of(operand, call.bytes, ranks, rank);
        part.begins_before = part.begins_before && !operand.is_read(is_root);
        if (operand.is_written(is_root)) {
            if (includes(operand.only_copies, is_root))
                part.own_block = where.offset;
            else
                part.ends_after = false;
        }
        return where.size;
    };
    if (row.combines) {
        part.combiner = combiner_of(static_cast<std::uint16_t>(call.reduction));
        if (!part.combiner.function) return {};
    }
    part.contribution = size_of(row.contribution);
    part.data = size_of(row.data);
    part.result = size_of(row.result);
    // Before the caller comes, only the elements of other ranks can be combined. This changes the order of the operands, so the operation
    // must allow any order.
    const std::uint64_t brought = brought_to(*entry, call, rank, ranks);
    if (brought > 0 && part.combiner.any_order) {
        part.collected = brought;
        part.begins_before = true;
    }
    // Where blocks have sizes of their own, the algorithm itself makes room for what comes, once it has been told how much that is.
    if (brought > 0 && !call.own_sizes)
        part.kept = entry->segmented ? brought / call.bytes * room_of_pieces(call.bytes, whole_segment(part.combiner, call.segment_bytes))
                                     : brought;
    if (entry->only_publishes) part.only_publishes = entry->only_publishes(call.bytes, call.root, rank, group);
    if (entry->passes_on) part.passed_on = entry->passes_on(call.bytes, call.root, rank, group);
    // A rank that collects also waits for the ranks below it.
    if (part.ends_after && brought == 0) {
        // Between two groups, the root and the ranks of the other group take part.
        const int taking_part = runtime::is_between_groups(call.kind) ? ranks + 1 : ranks;
        const CostInput cost_input = cost_input_of(*group.costs, call.bytes, taking_part, group.on_one_node, 0);
        const Wait wait = contributed(row, *entry, cost_input, is_root).wait;
        part.wait = wait.fixed;
        part.wait_byte = wait.byte;
        part.copy_byte = cost_input.copied_byte;
    }
    // Only the caller knows the size of its block. At the root, the caller also knows the other sizes: the engine puts them here.
    if (call.own_sizes) part.begins_before = false;
    return part;
}

runtime::Call make_call(const AlgorithmEntry& entry, int root, std::uint64_t bytes, std::uint64_t segment_bytes,
                        const Reduction& reduction) noexcept {
    const auto number = operation(entry.operation).combines ? foundation::number_of(reduction) : 0;
    return {.bytes = bytes,
            .root = root,
            .kind = entry.operation,
            .algorithm = entry.number,
            .segment_bytes = std::min(segment_bytes, runtime::kLongestSegment),
            .reduction = static_cast<std::uint16_t>(number)};
}

runtime::PlannedAlgorithm planned(const AlgorithmEntry& entry, bool is_root) noexcept {
    if (entry.when_planned) return entry.when_planned;
    if (!entry.begins_early) return {entry.algorithm, true};
    // The data of a root that only contributes comes with its caller. Begun before, it could not be handed over.
    return {entry.algorithm, is_root && entry.runs_alone && operation(entry.operation).only_contributes(true)};
}

}  // namespace rollcall::collectives
