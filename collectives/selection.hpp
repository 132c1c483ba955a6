/// \file
/// Which algorithm a call runs, and why.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/catalogue.hpp"

namespace rollcall::collectives {

struct Situation {
    std::uint64_t bytes = 0;  ///< Of the message; where blocks are moved: of a block. kAnyBytes: of own sizes.
    int ranks = 1;
    Conditions has = kUsual;
};

struct Selection {
    const AlgorithmEntry* entry;
    std::string_view why;  ///< What was measured or proved, or who asked for it.
    /// What a setting asks for and cannot do this call, if that is so.
    const AlgorithmEntry* passed_over = nullptr;
    /// As Rule::segment.
    std::uint64_t (*segment)(std::uint64_t bytes, int ranks) = nullptr;
};

/// Of what a call has otherwise, what it has when its elements are combined by this.
Conditions conditions_of(const Combiner& combiner, Conditions has) noexcept;

/// What `auto` takes. The same on all ranks for the same situation: only what all ranks know goes in.
Selection select(const OperationRow& row, const Situation& situation);
inline Selection select(OperationKind kind, const Situation& situation) { return select(operation(kind), situation); }

/// What is asked for: by the call (`asked`, a name, `auto`, or empty: nothing), else by a setting (null: `auto`). Throws
/// Error{invalid_argument} where a call asks for what cannot do it; where a setting does, `auto` takes its place.
Selection choose(const OperationRow& row, const Situation& situation, std::string_view asked, const AlgorithmEntry* setting);

/// "broadcast of 8 bytes to 8 ranks: linear, because: ..."
std::string explain(const OperationRow& row, const Situation& situation, const Selection& selection);
inline std::string explain(OperationKind kind, const Situation& situation, const Selection& selection) {
    return explain(operation(kind), situation, selection);
}

}  // namespace rollcall::collectives
