/// \file
/// Every algorithm by name: what it is, where it comes from, and what its limits are. `rollcall info --algorithms`, name
/// look-up, selection, benchmarks and tests are all made from this one list.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/group/call.hpp"
#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

struct AlgorithmEntry {
    runtime::OperationKind operation;
    std::string_view name;
    std::vector<std::string_view> aliases;  ///< The papers' short names, for the command line.
    runtime::Algorithm algorithm;
    std::string_view summary;
    std::string_view paper;
    std::string_view limits;        ///< In words; empty: none.
    bool segmented = false;         ///< Uses the segment size.
    bool whole_by_default = false;  ///< And takes 0 where none is given.
    bool simulated_only = false;    ///< Needs an oracle.
};

/// All entries, grouped by operation.
std::span<const AlgorithmEntry> catalogue();

/// The entry of this name or alias. Throws Error{invalid_argument} that lists the names there are ("auto" is not one).
const AlgorithmEntry& find_algorithm(runtime::OperationKind operation, std::string_view name, bool simulated = false);

/// What a rank calls when it runs this algorithm, as it is compared between ranks.
runtime::Call make_call(const AlgorithmEntry& entry, int root, std::uint64_t bytes, std::uint64_t segment_bytes);

/// The name of the algorithm with this number in a Call: a runtime::AlgorithmName.
std::string_view algorithm_name(std::uint8_t number) noexcept;

/// The names of an operation's algorithms, in the order of the catalogue.
std::vector<std::string_view> algorithm_names(runtime::OperationKind operation, bool simulated = false);

}  // namespace rollcall::collectives
