/// \file
/// Recursive halving and doubling, of which Rabenseifner's algorithms are made. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of
/// collective communication operations in MPICH", 2005, the sections on reduce-scatter and on allreduce.
///
/// Example: 6 ranks, root 0. The numbers 0 to 3 are ranks 0, 2, 4 and 5. First rank 1 sends its elements to 0, and 3 to 2. Halving: 0 <-> 4
/// and 2 <-> 5 exchange two of the four parts, so 0 is left with parts 0 and 1; then 0 <-> 2 and 4 <-> 5 exchange one, and 0 has part 0.
/// Doubling goes the same way back: 0 <-> 2 and 4 <-> 5 exchange one part, then 0 <-> 4 and 2 <-> 5 two.
#pragma once

#include <bit>

#include "collectives/combining/combining.hpp"
#include "collectives/combining/folding.hpp"
#include "collectives/combining/radix_groups.hpp"

namespace rollcall::collectives {

/// Combines the contributions of a pair of ranks: the idle rank sends its contribution to the one that takes part for both, which combines
/// both into `sum`. Uses one step.
Task combine_pair(Operation& op, const Folding& folding, transport::Bytes sum, std::uint64_t step);

/// The groups of recursive halving: pairs of the numbers of a folding. With them, combine_in_groups() takes log2(all) steps. In each step
/// a rank exchanges half of the parts it is responsible for with a rank that is responsible for the same parts, and combines the half that
/// it keeps.
RadixGroups halving_groups(const Folding& folding);

/// Recursive doubling, the way back: each rank has its own part of `data` and gets all of them. Uses halving_steps()
/// steps.
Task double_up(Operation& op, const Folding& folding, const Parts& parts, transport::Bytes data, std::uint64_t step);

/// How many steps recursive halving takes, and recursive doubling too.
inline std::uint64_t halving_steps(const Folding& folding) {
    return static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(folding.all()))) - 1;
}

}  // namespace rollcall::collectives
