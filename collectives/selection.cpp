#include "collectives/selection.hpp"

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "runtime/lane/publication.hpp"

namespace rollcall::collectives {

Conditions conditions_of(const Combiner& combiner, Conditions has) noexcept {
    if (!combiner.is_commutative) has = has.without(Condition::commutative);
    if (!combiner.any_order) has = has.without(Condition::any_order);
    if (combiner.element_bytes == 0 || runtime::kPieceOfNode % combiner.element_bytes != 0) has = has.without(Condition::whole_pieces);
    return has;
}

Selection select(const OperationRow& row, const Situation& situation) {
    for (const Rule& rule : row.rules) {
        if (situation.bytes > rule.up_to_bytes || situation.ranks > rule.up_to_ranks) continue;
        if (situation.has.contains(rule.where) && situation.has.contains(rule.algorithm->needs))
            return {rule.algorithm, rule.why, nullptr, rule.segment};
    }
    throw Error(ErrorCode::state, fmt::format("no rule for {}", runtime::name(row.kind)));
}

Selection choose(const OperationRow& row, const Situation& situation, std::string_view asked, const AlgorithmEntry* setting) {
    if (!asked.empty() && asked != "auto") return {&find_algorithm(row, asked, situation.has), "the call asks for it"};
    if (!setting || asked == "auto") return select(row, situation);
    if (situation.has.contains(setting->needs)) return {setting, "a setting asks for it"};
    Selection instead = select(row, situation);
    instead.passed_over = setting;
    return instead;
}

std::string explain(const OperationRow& row, const Situation& situation, const Selection& selection) {
    std::string what;
    if (!situation.has.contains(Condition::equal_blocks))
        what = " of blocks of different sizes";
    else if (row.moves_data)
        what = fmt::format(" of {} bytes", situation.bytes);
    std::string text = fmt::format("{}{} {} {} ranks: {}, because: {}", runtime::name(row.kind), what, row.reaches, situation.ranks,
                                   selection.entry->name, selection.why);
    if (const AlgorithmEntry* const other = selection.passed_over)
        text += fmt::format("; {}, which a setting asks for, {}", other->name, need_in_words(other->needs.without(situation.has)));
    return text;
}

}  // namespace rollcall::collectives
