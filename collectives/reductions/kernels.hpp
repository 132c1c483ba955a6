/// \file
/// The inner loops of reductions, with the widest vectors that the processor has.
#pragma once

#include <rollcall/reduction.hpp>

#include "foundation/combiner.hpp"

namespace rollcall::collectives {

/// Sets into[i] to left[i] combined with right[i]. The operator must be defined for the type, and must not be one of the program's own. The
/// result for an element depends neither on the processor nor on the place of the element, but for the bits of a NaN that an arithmetic
/// operator gives.
Combiner::Function kernel_of(Operator operation, ElementType type) noexcept;
/// The same for the two operators with a location.
Combiner::Function located_kernel_of(Operator operation, ElementType type) noexcept;

}  // namespace rollcall::collectives
