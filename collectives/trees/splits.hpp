/// \file
/// The inner loop of the dynamic programs of trees, as wide as the processor allows.
#pragma once

#include <cstddef>

namespace rollcall::collectives {

/// Ways to split ranks i .. j between k and k + 1, for `count` successive k. At [x] of each list is what belongs to the x-th k.
struct Splits {
    const double* left;   ///< When ranks i .. k are together.
    const double* right;  ///< When ranks k + 1 .. j are.
    const double* sums;   ///< Bytes of the ranks before k + 1.
    std::size_t count;
    double before, end;  ///< Bytes of the ranks before i, and before j + 1.
    double alpha, beta;  ///< A part of no bytes is sent at no cost.
};

/// Which part is sent to the other one.
enum class Sent { left, right, smaller };

/// The least max(left, right) + transfer of what is sent; infinity where there is no split.
double best_split(const Splits& splits, Sent sent);

}  // namespace rollcall::collectives
