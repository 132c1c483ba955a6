#include "collectives/selection.hpp"

#include <limits>

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
};

constexpr Rule kRules[] = {
    {OperationKind::broadcast, kAnyBytes, 2, "linear", "one message, whatever the algorithm"},
    {OperationKind::broadcast, 8192, 8, "linear",
     "the message is carried along with its header: the root is done at once, and nobody waits for a rank that forwards"},
    {OperationKind::broadcast, 8192, kAnyRanks, "binomial", "a short message to many: log2 n steps, each as cheap as a header"},
    {OperationKind::broadcast, kAnyBytes, kAnyRanks, "arrival_nonblocking",
     "a long message: at most three times the optimum for any arrival pattern, where the others have no bound"},
    {OperationKind::barrier, kAnyBytes, 16, "linear", "few ranks: two steps whatever they are"},
    {OperationKind::barrier, kAnyBytes, kAnyRanks, "dissemination", "many ranks: log2 n steps, and no rank gets more than log2 n messages"},
};

}  // namespace

Selection select(OperationKind operation, const Situation& situation) {
    for (const Rule& rule : kRules) {
        if (rule.operation != operation || situation.bytes > rule.up_to_bytes || situation.ranks > rule.up_to_ranks) continue;
        std::string_view algorithm = rule.algorithm;
        std::string_view why = rule.why;
        if (algorithm == "arrival_nonblocking" && !situation.landing) {
            algorithm = "arrival_blocking";
            why = "a long message and no landing budget: nothing can be sent ahead, so the root serves those who have arrived";
        }
        return {&find_algorithm(operation, algorithm),
                fmt::format("{} of {} bytes to {} ranks: {}, because: {}", runtime::name(operation), situation.bytes, situation.ranks, algorithm, why)};
    }
    throw Error(ErrorCode::state, fmt::format("no rule for {}", runtime::name(operation)));
}

}  // namespace rollcall::collectives
