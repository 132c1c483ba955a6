/// \file
/// Finds algorithms by name and by number.
#pragma once

#include <string_view>
#include <vector>

#include "collectives/operations.hpp"
#include "foundation/settings.hpp"
#include "runtime/engine/deputy.hpp"
#include "runtime/engine/planned_algorithm.hpp"

namespace rollcall::collectives {

/// The entry with this name or alias. Throws Error{invalid_argument}, which lists the existing names ("auto" is not one), or says what the
/// algorithm needs that calls with only the conditions `has` lack.
const AlgorithmEntry& find_algorithm(const OperationRow& row, std::string_view name, Conditions has = kUsual);
inline const AlgorithmEntry& find_algorithm(OperationKind kind, std::string_view name, Conditions has = kUsual) {
    return find_algorithm(operation(kind), name, has);
}

/// The algorithm that the operation's own setting asks for; null for `auto`. Throws Error{invalid_setting}, which names the variable.
const AlgorithmEntry* algorithm_of_setting(const OperationRow& row, std::string_view name);

/// The names of the operation's algorithms that can run in calls with these conditions, in the order of the table.
std::vector<std::string_view> algorithm_names(const OperationRow& row, Conditions has = kUsual);
inline std::vector<std::string_view> algorithm_names(OperationKind kind, Conditions has = kUsual) {
    return algorithm_names(operation(kind), has);
}

/// Adds each setting that names an algorithm which does not exist, or which no call of real processes can use, and gives it its default.
void judge_algorithms(Settings& settings, std::vector<SettingTrouble>& troubles);

/// The first of these conditions in words: "needs blocks of one size".
std::string_view need_in_words(Conditions missing);

/// The call that a rank makes when it runs this algorithm, in the form that ranks compare. `reduction` counts where the operation combines.
runtime::Call make_call(const AlgorithmEntry& entry, int root, std::uint64_t bytes, std::uint64_t segment_bytes,
                        const Reduction& reduction = {}) noexcept;

/// The name of the algorithm with this number in a Call: a runtime::AlgorithmName.
std::string_view algorithm_name(OperationKind operation, std::uint16_t number) noexcept;

/// Of a rank that only contributes data: how many blocks or messages of the call's size its buffers have, and what its caller waits for if
/// it stays until they have left. In a call between two groups, the input has the root and the ranks of the other group.
struct Contributed {
    int blocks = 1;
    Wait wait;
};
Contributed contributed(const OperationRow& row, const AlgorithmEntry& entry, const CostInput& input, bool is_root);

/// What this rank's part in a call needs in order to run without its caller: a runtime::FindPartAlone.
runtime::PartAlone part_alone(const runtime::Call& call, int rank, const runtime::Group& group) noexcept;

/// What a planned call runs on this rank. Where its part would only wait before its caller arrives, it begins with its caller.
runtime::PlannedAlgorithm planned(const AlgorithmEntry& entry, bool is_root = false) noexcept;

}  // namespace rollcall::collectives
