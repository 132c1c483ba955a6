/// \file
/// The calls of one cell, before they are summarised.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/results/cell.hpp"
#include "bench/results/metrics.hpp"

namespace rollcall::bench {

/// All calls of one cell.
struct Measured {
    CellIdentity identity;
    CallSetup setup;
    std::vector<CallSample> calls;
    std::vector<std::pair<std::string, std::string>> notes = {};
};

}  // namespace rollcall::bench
