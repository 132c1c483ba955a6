/// \file
/// Some ranks of a problem, as a problem of their own. Pure values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/trees/costs.hpp"
#include "collectives/trees/merging.hpp"

namespace rollcall::collectives {

/// Ranks are counted by their places in `ranks`, which must outlive this object. BlockTree::add_part() gives them their names again.
class ProblemPart {
  public:
    ProblemPart(const BlockProblem& problem, std::span<const int> ranks) : ranks_(ranks) {
        for (const int rank : ranks) {
            sizes_.push_back(problem.sizes[static_cast<std::size_t>(rank)]);
            arrivals_.push_back(problem.arrival(rank));
        }
    }

    BlockProblem problem() const { return {.sizes = sizes_, .arrivals = arrivals_}; }
    /// Returns kAnyRoot for a rank that is not in this part.
    int place_of(int rank) const {
        const auto found = std::find(ranks_.begin(), ranks_.end(), rank);
        return found == ranks_.end() ? kAnyRoot : static_cast<int>(found - ranks_.begin());
    }

  private:
    std::span<const int> ranks_;
    std::vector<std::uint64_t> sizes_;
    std::vector<double> arrivals_;
};

}  // namespace rollcall::collectives
