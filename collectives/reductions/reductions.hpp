/// \file
/// Finds the code that carries out a reduction.
#pragma once

#include <cstdint>

#include <rollcall/reduction.hpp>

#include "foundation/combiner.hpp"

namespace rollcall::collectives {

/// The combiner for this reduction on this processor. The reduction must be valid (foundation/reductions.hpp).
Combiner combiner_of(const Reduction& reduction) noexcept;

/// The combiner for the reduction with this number. A function of the program is known only to its caller; for such a reduction the
/// combiner has no function.
Combiner combiner_of(std::uint16_t number) noexcept;

}  // namespace rollcall::collectives
