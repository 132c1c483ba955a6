/// \file
/// A reduce_scatter in rounds, in each of which groups of ranks exchange parts directly, and the way of the parts to one rank. T. Peterka
/// et al., "A configurable algorithm for parallel image-compositing applications" (radix-k), SC 2009. Recursive halving is the case where
/// all groups have two ranks.
#pragma once

#include <functional>
#include <vector>

#include "collectives/combining/combining.hpp"

namespace rollcall::collectives {

/// The ranks that take part have the numbers from 0 to the product of the factors - 1. A number has a digit for each factor, the first
/// factor's digit is the most significant one. In round i, the numbers that differ only in digit i form a group.
struct RadixGroups {
    int own = 0;  ///< This rank's number.
    std::vector<int> factors;
    std::function<int(int number)> rank_of;

    int all() const;
};

/// There are as many parts as numbers. In each round, a rank sends each other rank of its group the parts whose numbers have that rank's
/// digits up to here. Of these parts it keeps its own, and combines with them what the others of its group send. In the end it has the part
/// of its own number, combined, in `result`. `brought`: all elements, at the beginning. `sum`: memory of the same length, which may be the
/// same memory; it holds intermediate results. The order in which operands are combined does not depend on arrivals, but it is not rank
/// order. Uses one step for each factor, from `step` on.
///
/// Example: factors 2 and 3, so 6 numbers. Number 4 has the digits 1 and 1. In round 1 its group is {1, 4}: it sends
/// parts 0 to 2 to number 1, and gets parts 3 to 5 from it. In round 2 its group is {3, 4, 5}: it sends part 3 to number 3 and part 5 to
/// number 5, and gets part 4 from both.
Task combine_in_groups(Operation& op, RadixGroups groups, const Parts& parts, transport::ConstBytes brought, transport::Bytes sum,
                       transport::Bytes result, std::uint64_t step);

/// Each rank that takes part has the part of its number in its place in `data`. They go to number 0 up a binomial tree. The others
/// overwrite the parts behind their own. Uses one step.
Task gather_at_first(Operation& op, RadixGroups groups, const Parts& parts, transport::Bytes data, std::uint64_t step);

}  // namespace rollcall::collectives
