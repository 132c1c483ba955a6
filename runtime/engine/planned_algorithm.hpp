/// \file
/// What a planned call runs.
#pragma once

#include "runtime/engine/operation.hpp"

namespace rollcall::runtime {

/// What a planned call runs, and when it begins.
struct PlannedAlgorithm {
    PlannedAlgorithm(Algorithm its_algorithm, bool its_begins_with_caller = false)
        : algorithm(its_algorithm), begins_with_caller(its_begins_with_caller) {}

    Algorithm algorithm;
    bool begins_with_caller;  ///< As for Operation::await_caller().
};

}  // namespace rollcall::runtime
