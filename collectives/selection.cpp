#include "collectives/selection.hpp"

#include <limits>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

namespace rollcall::collectives {
namespace {

using runtime::OperationKind;

constexpr std::uint64_t kAnyBytes = std::numeric_limits<std::uint64_t>::max();
constexpr int kAnyRanks = std::numeric_limits<int>::max();

/// The first row that fits is taken. `why` says what was measured or proved.
struct Rule {
    OperationKind operation;
    std::uint64_t up_to_bytes;
    int up_to_ranks;
    std::string_view algorithm;
    std::string_view why;
    bool needs_landing = false;
    bool needs_shared_boards = false;
};

constexpr Rule kRules[] = {
    {OperationKind::broadcast, kAnyBytes, 2, "linear", "one message, whatever the algorithm"},
    {OperationKind::broadcast, 8192, 8, "linear",
     "the message is carried along with its header: the root is done at once, and nobody waits for a rank that forwards"},
    {OperationKind::broadcast, 8192, kAnyRanks, "binomial", "a short message to many: log2 n steps, each as cheap as a header"},
    {OperationKind::broadcast, kAnyBytes, kAnyRanks, "arrival_nonblocking",
     "a long message: at most three times the optimum for any arrival pattern, where the others have no bound", true},
    {OperationKind::broadcast, kAnyBytes, kAnyRanks, "arrival_blocking",
     "a long message and no landing budget: nothing can be sent ahead, so the root serves those who have arrived"},
    {OperationKind::scatter, kAnyBytes, 2, "linear", "one message, whatever the algorithm"},
    {OperationKind::scatter, 8192, 8, "linear",
     "each block is carried along with its header: the root is done at once, and nobody waits for a rank that forwards"},
    {OperationKind::scatter, 8192, kAnyRanks, "binomial",
     "short blocks for many: log2 n messages leave the root instead of n - 1, and it is their number that counts"},
    {OperationKind::scatter, kAnyBytes, kAnyRanks, "online_linear",
     "long blocks: the root's port is what counts, so each block moves once, and first to those who wait for it"},
    {OperationKind::gather, kAnyBytes, 2, "linear", "one message, whatever the algorithm"},
    {OperationKind::gather, 8192, 8, "linear",
     "each block is carried along with its header: its sender is done at once, and nobody waits for a rank that forwards"},
    {OperationKind::gather, 8192, kAnyRanks, "binomial",
     "short blocks of many: log2 n messages enter the root instead of n - 1, and it is their number that counts"},
    {OperationKind::gather, kAnyBytes, kAnyRanks, "background_sorted_linear_synchronized",
     "long blocks: the root's port is what counts, so each block moves once, straight to its place, as its rank arrives"},
    {OperationKind::barrier, kAnyBytes, 16, "board_all_to_all",
     "ranks that share memory: a store into each one's arrivals board is one step, and no message has to be handled", false, true},
    {OperationKind::barrier, kAnyBytes, 64, "board_linear",
     "many ranks that share memory: two steps of stores into arrivals boards, and no message has to be handled", false, true},
    {OperationKind::barrier, kAnyBytes, 16, "linear", "few ranks: two steps whatever they are"},
    {OperationKind::barrier, kAnyBytes, kAnyRanks, "dissemination", "many ranks: log2 n steps, and no rank gets more than log2 n messages"},
};

/// Rules with their names looked up, once.
const std::vector<const AlgorithmEntry*>& rule_entries() {
    static const std::vector<const AlgorithmEntry*> entries = [] {
        std::vector<const AlgorithmEntry*> found;
        for (const Rule& rule : kRules) found.push_back(&find_algorithm(rule.operation, rule.algorithm));
        return found;
    }();
    return entries;
}

}  // namespace

Selection select(OperationKind operation, const Situation& situation) {
    std::size_t number = 0;
    for (const Rule& rule : kRules) {
        const AlgorithmEntry* entry = rule_entries()[number++];
        if (rule.operation != operation || situation.bytes > rule.up_to_bytes || situation.ranks > rule.up_to_ranks) continue;
        if (rule.needs_landing && !situation.landing) continue;
        if (rule.needs_shared_boards && !situation.shared_boards) continue;
        return {entry, rule.why};
    }
    throw Error(ErrorCode::state, fmt::format("no rule for {}", runtime::name(operation)));
}

std::string explain(OperationKind operation, const Situation& situation, const Selection& selection) {
    if (operation == OperationKind::barrier)
        return fmt::format("barrier of {} ranks: {}, because: {}", situation.ranks, selection.entry->name, selection.why);
    const std::string_view how = operation == OperationKind::scatter  ? "to each of"
                                 : operation == OperationKind::gather ? "from each of"
                                                                      : "to";
    return fmt::format("{} of {} bytes {} {} ranks: {}, because: {}", runtime::name(operation), situation.bytes, how, situation.ranks,
                       selection.entry->name, selection.why);
}

}  // namespace rollcall::collectives
