/// \file
/// Decides which algorithm a call runs, and says why.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/catalogue.hpp"

namespace rollcall::collectives {

struct Situation {
    std::uint64_t bytes = 0;  ///< Size of the message, or of one block where blocks are moved. kAnyBytes: blocks have sizes of their own.
    int ranks = 1;
    Conditions has = kUsual;
};

struct Selection {
    const AlgorithmEntry* entry;
    std::string_view why;  ///< What was measured or proved, or who asked for it.
    /// The algorithm that a setting asks for, if it cannot do this call.
    const AlgorithmEntry* passed_over = nullptr;
    /// The segment size, as in Rule::segment.
    std::uint64_t (*segment)(std::uint64_t bytes, int ranks) = nullptr;
};

/// The conditions that remain of `has` when elements are combined with this combiner.
Conditions conditions_of(const Combiner& combiner, Conditions has) noexcept;

/// What `auto` takes. All ranks get the same answer for the same situation, because it contains only what all ranks know.
Selection select(const OperationRow& row, const Situation& situation);
inline Selection select(OperationKind kind, const Situation& situation) { return select(operation(kind), situation); }

/// The algorithm that is asked for: by the call (`asked`: a name, `auto`, or empty for nothing), otherwise by a setting (null: `auto`). If
/// a call asks for an algorithm that cannot do it, throws Error{invalid_argument}. If a setting does, `auto` takes its place.
Selection choose(const OperationRow& row, const Situation& situation, std::string_view asked, const AlgorithmEntry* setting);

/// "broadcast of 8 bytes to 8 ranks: linear, because: ..."
std::string explain(const OperationRow& row, const Situation& situation, const Selection& selection);
inline std::string explain(OperationKind kind, const Situation& situation, const Selection& selection) {
    return explain(operation(kind), situation, selection);
}

}  // namespace rollcall::collectives
