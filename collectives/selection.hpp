/// \file
/// Which algorithm `auto` runs, and why.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/catalogue.hpp"

namespace rollcall::collectives {

struct Situation {
    std::uint64_t bytes = 0;  ///< Scatter and gather: of each rank.
    int ranks = 1;
    bool landing = true;         ///< Early data can land (the budget is not zero).
    bool shared_boards = false;  ///< All ranks share memory, and the communicator has slots on their arrivals boards.
};

struct Selection {
    const AlgorithmEntry* entry;
    std::string_view why;  ///< What was measured or proved.
};

/// The same on all ranks for the same situation: only what all ranks know goes in.
Selection select(runtime::OperationKind operation, const Situation& situation);

/// "broadcast of 8 bytes to 8 ranks: linear, because ..."
std::string explain(runtime::OperationKind operation, const Situation& situation, const Selection& selection);

}  // namespace rollcall::collectives
