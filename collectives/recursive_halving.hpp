/// \file
/// Recursive halving and doubling, which Rabenseifner's algorithms are made of. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of
/// collective communication operations in MPICH", 2005, sections 4.4 and 4.5.
#pragma once

#include <bit>
#include <span>
#include <vector>

#include "collectives/combining.hpp"
#include "collectives/folding.hpp"

namespace rollcall::collectives {

/// Parts of the elements, one for each number of a folding: part k is [bounds[k], bounds[k + 1]).
using PartBounds = std::span<const std::uint64_t>;
/// Those of parts as equal as can be.
std::vector<std::uint64_t> even_bounds(const Operation& op, const Folding& folding);
/// The parts of numbers `first` to `last`, without the last one.
template <class Bytes>
Bytes parts_of(Bytes all, PartBounds bounds, int first, int last) {
    const std::uint64_t begin = bounds[static_cast<std::size_t>(first)];
    return runtime::slice(all, begin, bounds[static_cast<std::size_t>(last)] - begin);
}

/// Whom the ranks of a pair send what they bring: to the one that takes part for both, who combines it with its own into `sum`. Uses one
/// step.
Task combine_pair(Operation& op, const Folding& folding, transport::Bytes sum, std::uint64_t step);

/// In log2 all steps, between ranks that take part: each exchanges half of what it is answerable for with a rank that is answerable for the
/// same, and combines the other half, until it has its own part, combined, in `result`. `brought`: all elements, before; `sum`: as long,
/// which may be the same; in between its parts are combined. For more than one number. Uses halving_steps() steps.
Task halve(Operation& op, const Folding& folding, PartBounds bounds, transport::ConstBytes brought, transport::Bytes sum,
           transport::Bytes result, std::uint64_t step);

/// The way back: who has its part of `data` gets all of them. As many steps.
Task double_up(Operation& op, const Folding& folding, PartBounds bounds, transport::Bytes data, std::uint64_t step);

/// How many steps halve() has, and double_up().
inline std::uint64_t halving_steps(const Folding& folding) {
    return static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(folding.all()))) - 1;
}

}  // namespace rollcall::collectives
