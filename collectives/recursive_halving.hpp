/// \file
/// Recursive halving and doubling, of which Rabenseifner's algorithms are made. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of
/// collective communication operations in MPICH", 2005, sections 4.4 and 4.5.
#pragma once

#include <bit>

#include "collectives/combining.hpp"
#include "collectives/folding.hpp"
#include "collectives/parts.hpp"

namespace rollcall::collectives {

/// The elements in parts, one for each number of a folding, of sizes as equal as possible.
Parts even_parts(const Operation& op, const Folding& folding);
/// The parts of numbers `first` to `last`.
template <class Bytes>
Bytes parts_of(Bytes all, const Parts& parts, int first, int last) {
    const Range range = parts.from_to(first, last);
    return runtime::slice(all, range.begin, range.size());
}

/// Combines the contributions of a pair of ranks: the idle rank sends its contribution to the one that takes part for both, which combines
/// both into `sum`. Uses one step.
Task combine_pair(Operation& op, const Folding& folding, transport::Bytes sum, std::uint64_t step);

/// Recursive halving, in log2(all) steps, between the ranks that take part. In each step a rank exchanges half of the parts it is
/// responsible for with a rank that is responsible for the same parts, and combines the half that it keeps. In the end it has its own part,
/// combined, in `result`. `brought`: all elements, at the beginning. `sum`: memory of the same length, which may be the same memory; it
/// holds intermediate results. For more than one number. Uses halving_steps() steps.
Task halve(Operation& op, const Folding& folding, const Parts& parts, transport::ConstBytes brought, transport::Bytes sum,
           transport::Bytes result, std::uint64_t step);

/// Recursive doubling, the way back: each rank has its own part of `data` and gets all of them. Uses as many steps.
Task double_up(Operation& op, const Folding& folding, const Parts& parts, transport::Bytes data, std::uint64_t step);

/// How many steps halve() uses, and double_up() too.
inline std::uint64_t halving_steps(const Folding& folding) {
    return static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(folding.all()))) - 1;
}

}  // namespace rollcall::collectives
