/// \file
/// Which algorithm `auto` runs, and why.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/catalogue.hpp"

namespace rollcall::collectives {

struct Situation {
    std::uint64_t bytes = 0;
    int ranks = 1;
    bool landing = true;          ///< Early data can land (the budget is not zero).
};

struct Selection {
    const AlgorithmEntry* entry;
    std::string reason;  ///< A sentence, for `--explain` and the log.
};

/// The same on all ranks for the same situation: only what all ranks know goes in.
Selection select(runtime::OperationKind operation, const Situation& situation);

}  // namespace rollcall::collectives
