/// \file
/// Reductions by number and by name. Calls that ranks compare are described with these numbers.
#pragma once

#include <cstdint>
#include <string>

#include <rollcall/reduction.hpp>

namespace rollcall::inline foundation {

/// Returns the size in bytes of an element of a type that the library knows. For minimum_location and maximum_location it is the size of a
/// Located element.
std::uint32_t element_bytes(Operator operation, ElementType type) noexcept;

/// Returns the number of bytes of so many elements. If it overflows, it is the largest number, for which a call is refused.
inline std::uint64_t bytes_of(std::uint64_t count, const Reduction& reduction) noexcept {
    std::uint64_t bytes = 0;
    return __builtin_mul_overflow(count, std::uint64_t{reduction.element_bytes}, &bytes) ? ~std::uint64_t{0} : bytes;
}

/// Returns a sentence that says what is wrong with the reduction, for example that the operator is not defined for the type, or that the
/// function is missing. Empty if nothing is wrong.
std::string what_is_wrong(const Reduction& reduction);

/// Returns the number that ranks compare; never 0. It contains the operator, the element type, and by_rank. For a function of the program
/// it contains, in place of the type, the size of its elements (exact up to 1022 bytes) and whether it is commutative.
std::uint16_t number_of(const Reduction& reduction) noexcept;

/// Returns the reduction with this number. The function of a program is not part of the number and stays empty.
Reduction reduction_of_number(std::uint16_t number) noexcept;

/// For example "sum of float32" or "function of elements of 24 bytes, by rank".
std::string reduction_name(std::uint16_t number);

}  // namespace rollcall::inline foundation
