#include "collectives/selection.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "foundation/units.hpp"
#include "runtime/engine/publication.hpp"

namespace rollcall::collectives {
namespace {

/// The exponent of the power of two to which a size is rounded up.
std::size_t size_of(std::uint64_t bytes) {
    return bytes <= 1 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes - 1)), Choices::kSizes - 1);
}

/// The input of the estimates for the size to which the call's size is rounded.
CostInput rounded(SelectionInput input) {
    input.bytes = std::uint64_t{1} << size_of(input.bytes);
    return cost_input_of(input);
}

std::size_t fastest(const Rule& rule, const SelectionInput& input) {
    const CostInput cost_input = rounded(input);
    std::size_t best = 0;
    double least = rule.algorithm->cost(cost_input);
    for (std::size_t i = 1; i < rule.candidates(); ++i)
        if (const double time = rule.candidate(i)->cost(cost_input); cost::is_less(time, least)) {
            least = time;
            best = i;
        }
    return best;
}

}  // namespace

CostInput cost_input_of(const SelectionInput& input) {
    CostInput cost_input = cost_input_of(*input.costs, input.bytes, input.ranks, input.has.contains(Condition::shared_boards), input.nodes);
    cost_input.ranks_of_group = input.ranks_of_group;
    cost_input.nodes_of_group = input.nodes_of_group;
    return cost_input;
}

std::size_t Choices::of(const OperationRow& row, const Rule& rule, std::size_t comparison, const SelectionInput& input) {
    std::atomic<std::uint8_t>& chosen = chosen_[index_of(row.kind)][comparison][size_of(input.bytes)];
    if (const std::uint8_t known = chosen.load(std::memory_order_relaxed)) return known - 1u;
    const std::size_t found = fastest(rule, input);
    chosen.store(static_cast<std::uint8_t>(found + 1), std::memory_order_relaxed);
    return found;
}

Conditions conditions_of(const Settings& settings, const InCommon& common) noexcept {
    Conditions has = kUsual;
    if (settings.landing_bytes == 0) has = has.without(Condition::landing);
    if (settings.decouples()) has = has.with(Condition::background);
    if (common.boards) has = has.with(Condition::shared_boards);
    if (common.node_memory) has = has.with(Condition::node_memory);
    if (common.several_nodes) has = has.with(Condition::several_nodes);
    if (common.even_nodes) has = has.with(Condition::even_nodes);
    return has;
}

Conditions conditions_of(const Combiner& combiner, Conditions has) noexcept {
    if (!combiner.is_commutative) has = has.without(Condition::commutative);
    if (!combiner.any_order) has = has.without(Condition::any_order);
    if (combiner.is_of_program) has = has.without(Condition::background);
    if (combiner.element_bytes == 0 || combiner.element_bytes > runtime::kPieceOfNode) has = has.without(Condition::whole_pieces);
    return has;
}

Selection select(const OperationRow& row, const SelectionInput& input, Choices* choices) {
    std::size_t comparisons = 0;
    for (const Rule& rule : row.rules) {
        const std::size_t comparison = comparisons;
        if (rule.compares()) ++comparisons;
        if (!rule.fits(input.bytes, input.ranks)) continue;
        if (!input.has.contains(rule.where) || !input.has.contains(rule.algorithm->needs)) continue;
        if (!rule.compares()) return {rule.algorithm, rule.why, nullptr, rule.segment};
        if (!input.has.contains(Condition::equal_blocks)) continue;
        const AlgorithmEntry* const taken = rule.candidate(choices ? choices->of(row, rule, comparison, input) : fastest(rule, input));
        return {taken, rule.why, nullptr, taken->whole_by_default ? nullptr : rule.segment, &rule};
    }
    throw Error(ErrorCode::state, fmt::format("no rule for {}", runtime::name(row.kind)));
}

Selection choose(const OperationRow& row, const SelectionInput& input, std::string_view asked, const AlgorithmEntry* setting,
                 Choices* choices) {
    if (!asked.empty() && asked != "auto") return {&find_algorithm(row, asked, input.has), "the call asks for it"};
    if (!setting || asked == "auto") return select(row, input, choices);
    if (input.has.contains(setting->needs)) return {setting, "a setting asks for it"};
    Selection instead = select(row, input, choices);
    instead.passed_over = setting;
    return instead;
}

std::uint64_t segment_of(const Selection& selection, const SelectionInput& input, std::uint64_t setting) {
    if (!selection.entry->segmented) return 0;
    if (selection.segment && setting == Settings().segment_bytes) return selection.segment(cost_input_of(input));
    return selection.entry->whole_by_default ? 0 : setting;
}

std::string reason(const SelectionInput& input, const Selection& selection) {
    std::string text(selection.why);
    if (!selection.compared) return text;
    const CostInput cost_input = rounded(input);
    std::vector<std::pair<double, std::string_view>> others;
    for (std::size_t i = 0; i < selection.compared->candidates(); ++i) {
        const AlgorithmEntry* const entry = selection.compared->candidate(i);
        if (entry != selection.entry) others.emplace_back(entry->cost(cost_input), entry->name);
    }
    std::sort(others.begin(), others.end());
    const double least = selection.entry->cost(cost_input);
    text += fmt::format("; {} costs: {} {}", *input.costs == kBuiltInCosts ? "by the built-in" : "by the measured", selection.entry->name,
                        format_duration(least * 1e-9));
    for (const auto& [time, name] : others) {
        text += fmt::format(", {} {}", name, format_duration(time * 1e-9));
        if (least > 0) text += fmt::format(" ({:.3g} times as long)", time / least);
    }
    return text;
}

std::string stay_or_leave(const OperationRow& row, const SelectionInput& input, const AlgorithmEntry& entry, const Leaving& leaving) {
    if (!input.has.contains(Condition::background)) return {};
    const bool is_root = row.only_contributes(true);
    if (!is_root && !row.only_contributes(false)) return {};
    const CostInput cost_input = cost_input_of(input);
    const auto [blocks, wait] = contributed(row, entry, cost_input, is_root);
    if (wait.byte <= 0) return {};
    const double bytes = cost_input.bytes * blocks, waits = wait.fixed + bytes * wait.byte, copies = bytes * cost_input.copied_byte;
    const std::string_view caller = is_root ? "the root" : "a rank that only contributes";
    const std::string copy = format_duration(copies * 1e-9), stay = format_duration(waits * 1e-9);
    if (!leaving.has_background)
        return fmt::format("{} waits until its data has left ({}), because no background thread would send a copy", caller, stay);
    if (copies > waits) return fmt::format("{} waits until its data has left ({}), because a copy would take {}", caller, stay, copy);
    if (bytes > static_cast<double>(leaving.longest))
        return fmt::format("{} waits until its data has left ({}), because a copy of it would be longer than ROLLCALL_LANDING_LONGEST",
                           caller, stay);
    if (bytes > static_cast<double>(leaving.room))
        return fmt::format(
            "{} waits until its data has left ({}), because a copy of it would need more than the half of ROLLCALL_LANDING_BYTES", caller,
            stay);
    return fmt::format("{} leaves after a copy ({}), because it would wait for {}", caller, copy, stay);
}

std::string explain(const OperationRow& row, const SelectionInput& input, const Selection& selection) {
    std::string what;
    if (input.is_average)
        what = fmt::format(" of blocks of different sizes ({} on the average)", counted(input.bytes, "byte"));
    else if (!input.has.contains(Condition::equal_blocks))
        what = " of blocks of different sizes";
    else if (row.moves_data)
        what = fmt::format(" of {}", counted(input.bytes, "byte"));
    std::string text =
        fmt::format("{}{} {} {}: {}, because: {}", runtime::name(row.kind), what, row.reaches,
                    counted(static_cast<std::uint64_t>(input.ranks), "rank"), selection.entry->name, reason(input, selection));
    if (const AlgorithmEntry* const other = selection.passed_over)
        text += fmt::format("; {}, which a setting asks for, {}", other->name, need_in_words(other->needs.without(input.has)));
    return text;
}

}  // namespace rollcall::collectives
