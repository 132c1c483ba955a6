/// \file
/// Recursive halving and doubling, which Rabenseifner's algorithms are made of. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of
/// collective communication operations in MPICH", 2005, sections 4.4 and 4.5.
#pragma once

#include <bit>

#include "collectives/combining.hpp"
#include "collectives/folding.hpp"
#include "collectives/parts.hpp"

namespace rollcall::collectives {

/// The elements in parts, one for each number of a folding, as equal as can be.
Parts even_parts(const Operation& op, const Folding& folding);
/// The parts of numbers `first` to `last`.
template <class Bytes>
Bytes parts_of(Bytes all, const Parts& parts, int first, int last) {
    const Range range = parts.from_to(first, last);
    return runtime::slice(all, range.begin, range.size());
}

/// Whom the ranks of a pair send what they bring: to the one that takes part for both, who combines it with its own into `sum`. Uses one
/// step.
Task combine_pair(Operation& op, const Folding& folding, transport::Bytes sum, std::uint64_t step);

/// In log2 all steps, between ranks that take part: each exchanges half of what it is answerable for with a rank that is answerable for the
/// same, and combines the other half, until it has its own part, combined, in `result`. `brought`: all elements, before; `sum`: as long,
/// which may be the same; in between its parts are combined. For more than one number. Uses halving_steps() steps.
Task halve(Operation& op, const Folding& folding, const Parts& parts, transport::ConstBytes brought, transport::Bytes sum,
           transport::Bytes result, std::uint64_t step);

/// The way back: who has its part of `data` gets all of them. As many steps.
Task double_up(Operation& op, const Folding& folding, const Parts& parts, transport::Bytes data, std::uint64_t step);

/// How many steps halve() has, and double_up().
inline std::uint64_t halving_steps(const Folding& folding) {
    return static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(folding.all()))) - 1;
}

}  // namespace rollcall::collectives
