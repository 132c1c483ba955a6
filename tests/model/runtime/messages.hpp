/// \file
/// Shared by the tests of messages.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/model/job.hpp"

namespace rollcall::model_test {

/// Returns a job of two ranks with this landing budget.
inline runtime::Simulation::Options job_of_two(std::uint64_t landing, std::uint64_t eager = 64) {
    runtime::Simulation::Options options;
    options.ranks = 2;
    options.landing_bytes = landing;
    options.eager_bytes = eager;
    return options;
}

inline int ended(const std::vector<runtime::Transfer*>& transfers) {
    return static_cast<int>(std::count_if(transfers.begin(), transfers.end(), [](const runtime::Transfer* t) { return t->done(); }));
}

}  // namespace rollcall::model_test
