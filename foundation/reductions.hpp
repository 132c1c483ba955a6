/// \file
/// Reductions by number and by name. A leaf, as operation_kind.hpp: the calls that ranks compare are described with it.
#pragma once

#include <cstdint>
#include <string>

#include <rollcall/reduction.hpp>

namespace rollcall::inline foundation {

/// The bytes of an element that the library knows. Of minimum_location and maximum_location: of a Located one.
std::uint32_t element_bytes(Operator operation, ElementType type) noexcept;

/// Empty, or a sentence about what is wrong with it: an operator that is not defined for the type, a function that is not there.
std::string what_is_wrong(const Reduction& reduction);

/// What ranks compare of it, never 0: operator, element type (of a function: the size of its elements up to 1022 bytes, and whether it
/// commutes), and by_rank.
std::uint16_t number_of(const Reduction& reduction) noexcept;

/// The reduction of this number, as far as the number says: without the function of a program's own.
Reduction reduction_of_number(std::uint16_t number) noexcept;

/// "sum of float32"; "function of elements of 24 bytes, by rank"
std::string reduction_name(std::uint16_t number);

}  // namespace rollcall::inline foundation
