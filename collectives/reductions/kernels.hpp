/// \file
/// The inner loops of reductions, as wide as the processor allows.
#pragma once

#include <rollcall/reduction.hpp>

#include "foundation/combiner.hpp"

namespace rollcall::collectives {

/// into[i] = left[i] combined with right[i]. The operator must be defined for the type, and none of a program's own. The result of an
/// element does not depend on the processor, nor on where the element stands.
Combiner::Function kernel_of(Operator operation, ElementType type) noexcept;

}  // namespace rollcall::collectives
