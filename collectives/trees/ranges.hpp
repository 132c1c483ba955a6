/// \file
/// The values that dynamic programs keep for ranges of ranks, and the order in which they go through the ranges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rollcall::collectives {

/// The sizes and the times of all ranges of ranks. Each time is there twice, so that the inner loops of a program go through memory in
/// order, whichever end of its ranges moves.
class RangeTable {
  protected:
    explicit RangeTable(std::span<const std::uint64_t> sizes)
        : n_(static_cast<int>(sizes.size())),
          stride_(sizes.size() + 8),
          sums_(sizes.size() + 1, 0),
          times_(std::make_unique_for_overwrite<double[]>(stride_ * sizes.size())),
          times_by_last_(std::make_unique_for_overwrite<double[]>(stride_ * sizes.size())) {
        for (std::size_t rank = 0; rank < sizes.size(); ++rank) sums_[rank + 1] = sums_[rank] + static_cast<double>(sizes[rank]);
    }

    double& at(int i, int j) { return times_[index(i, j)]; }
    double& by_last(int j, int i) { return times_by_last_[index(j, i)]; }
    void set(int i, int j, double time) { at(i, j) = by_last(j, i) = time; }
    /// The sum of the sizes of the ranks before this one. Those of later ranks follow in memory.
    const double& sum_before(int rank) const { return sums_[static_cast<std::size_t>(rank)]; }
    double sum(int first, int last) const { return sum_before(last + 1) - sum_before(first); }

    const int n_;
    bool all_ = false;  ///< All ranges are computed.

  private:
    std::size_t index(int row, int column) const { return static_cast<std::size_t>(row) * stride_ + static_cast<std::size_t>(column); }

    const std::size_t stride_;
    std::vector<double> sums_;
    std::unique_ptr<double[]> times_, times_by_last_;
};

/// The number of rows that are computed side by side, so that the data which they share is read from memory once.
inline constexpr int kRangeRows = 8;

/// Calls compute(i, j) for all first <= i <= last_row, max(i + 1, first_column) <= j <= last. The ranges inside of i .. j come before i ..
/// j.
template <class Compute>
void for_ranges(int first, int last_row, int first_column, int last, Compute compute) {
    for (int block = last_row; block >= first; block -= kRangeRows) {
        const int lowest = std::max(first, block - kRangeRows + 1);
        for (int j = std::max(lowest + 1, first_column); j <= last; ++j)
            for (int i = std::min(block, j - 1); i >= lowest; --i) compute(i, j);
    }
}

}  // namespace rollcall::collectives
