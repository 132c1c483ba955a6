/// \file
/// Algorithms by name and by number.
#pragma once

#include <string_view>
#include <vector>

#include "collectives/operations.hpp"
#include "runtime/lane/deputy.hpp"

namespace rollcall::collectives {

/// The entry of this name or alias. Throws Error{invalid_argument} that lists the names there are ("auto" is not one), or says what
/// the algorithm needs and calls that have only `has` do not have.
const AlgorithmEntry& find_algorithm(const OperationRow& row, std::string_view name, Conditions has = kUsual);
inline const AlgorithmEntry& find_algorithm(OperationKind kind, std::string_view name, Conditions has = kUsual) {
    return find_algorithm(operation(kind), name, has);
}

/// What the operation's own setting asks for: null for `auto`. Throws Error{invalid_setting}, which names the variable.
const AlgorithmEntry* algorithm_of_setting(const OperationRow& row, std::string_view name);

/// The names of an operation's algorithms that calls with these conditions can have, in their order.
std::vector<std::string_view> algorithm_names(const OperationRow& row, Conditions has = kUsual);
inline std::vector<std::string_view> algorithm_names(OperationKind kind, Conditions has = kUsual) {
    return algorithm_names(operation(kind), has);
}

/// What the first of these conditions is in words: "needs blocks of one size".
std::string_view need_in_words(Conditions missing);

/// What a rank calls when it runs this algorithm, as it is compared between ranks. The reduction counts where the operation combines.
runtime::Call make_call(const AlgorithmEntry& entry, int root, std::uint64_t bytes, std::uint64_t segment_bytes,
                        const Reduction& reduction = {}) noexcept;

/// The name of the algorithm with this number in a Call: a runtime::AlgorithmName.
std::string_view algorithm_name(OperationKind operation, std::uint16_t number) noexcept;

/// What this rank's part in a call needs when it runs without its caller: a runtime::FindPartAlone.
runtime::PartAlone part_alone(const runtime::Call& call, int rank, int ranks) noexcept;

/// What a planned call runs, which is begun before its caller arrives.
runtime::Algorithm planned(const AlgorithmEntry& entry) noexcept;

}  // namespace rollcall::collectives
