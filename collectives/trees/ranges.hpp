/// \file
/// The order in which dynamic programs go through ranges of ranks.
#pragma once

#include <algorithm>

namespace rollcall::collectives {

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
