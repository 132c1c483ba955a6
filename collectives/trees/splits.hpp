/// \file
/// The inner loop of the dynamic programs for trees, with the widest vectors that the processor has.
#pragma once

#include <cstddef>

namespace rollcall::collectives {

/// Ways to split the ranks i .. j between k and k + 1, for `count` successive values of k. Element [x] of each list belongs to the x-th k.
struct Splits {
    const double* left;   ///< The time at which ranks i .. k are together.
    const double* right;  ///< The time at which ranks k + 1 .. j are.
    const double* sums;   ///< The bytes of the ranks before k + 1.
    std::size_t count;
    double before, end;  ///< Bytes of the ranks before i, and before j + 1.
    double alpha, beta;  ///< Sending a part of no bytes costs nothing.
};

/// Which part is sent to the other one.
enum class Sent { left, right, smaller };

/// The least value of max(left, right) + the transfer of what is sent. Infinity if there is no split.
double best_split(const Splits& splits, Sent sent);

}  // namespace rollcall::collectives
