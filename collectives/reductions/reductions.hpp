/// \file
/// What carries reductions out.
#pragma once

#include <cstdint>

#include <rollcall/reduction.hpp>

#include "foundation/combiner.hpp"

namespace rollcall::collectives {

/// On this processor. There must be nothing wrong with the reduction (foundation/reductions.hpp).
Combiner combiner_of(const Reduction& reduction) noexcept;

/// That of this number. Of a function of the program's, which only its caller knows: one without a function.
Combiner combiner_of(std::uint16_t number) noexcept;

}  // namespace rollcall::collectives
