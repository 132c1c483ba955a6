#include "foundation/reductions.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace rollcall::inline foundation {
namespace {

struct TypeName {
    std::string_view name;
    std::uint32_t bytes;
};
constexpr std::array kTypes = {TypeName{"int8", 1},      TypeName{"int16", 2},      TypeName{"int32", 4},   TypeName{"int64", 8},
                               TypeName{"uint8", 1},     TypeName{"uint16", 2},     TypeName{"uint32", 4},  TypeName{"uint64", 8},
                               TypeName{"float32", 4},   TypeName{"float64", 8},    TypeName{"float16", 2}, TypeName{"bfloat16", 2},
                               TypeName{"complex64", 8}, TypeName{"complex128", 16}};
constexpr std::array<std::string_view, 13> kOperators = {
    "sum",         "product",    "minimum",     "maximum",          "logical_and",      "logical_or", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor", "minimum_location", "maximum_location", "function"};
static_assert(kTypes.size() == static_cast<std::size_t>(ElementType::complex128) + 1);
static_assert(kOperators.size() == static_cast<std::size_t>(Operator::function) + 1);

bool is_located(Operator operation) { return operation == Operator::minimum_location || operation == Operator::maximum_location; }

// Layout of the number: 4 bits for the operator plus one, 1 bit for the order, and 11 bits for what is combined.
constexpr int kOperatorBits = 4, kWhat = kOperatorBits + 1, kSizeBits = 10;
constexpr std::uint32_t kLargestSize = (1 << kSizeBits) - 1;

}  // namespace

std::uint32_t element_bytes(Operator operation, ElementType type) noexcept {
    return is_located(operation) ? sizeof(Located<double>) : kTypes[static_cast<std::size_t>(type)].bytes;
}

std::string what_is_wrong(const Reduction& reduction) {
    if (reduction.operation > Operator::function)
        return fmt::format("there is no operator with the number {}", static_cast<int>(reduction.operation));
    if (reduction.operation == Operator::function) {
        if (!reduction.combine) return "the function that combines elements is null";
        return reduction.element_bytes == 0 ? "the elements have a size of 0 bytes: give their size" : "";
    }
    if (reduction.type > ElementType::complex128)
        return fmt::format("there is no element type with the number {}", static_cast<int>(reduction.type));
    const std::string_view operation = kOperators[static_cast<std::size_t>(reduction.operation)];
    const TypeName& type = kTypes[static_cast<std::size_t>(reduction.type)];
    if (!is_defined(reduction.operation, reduction.type, is_located(reduction.operation)))
        return fmt::format("there is no {} of {}", operation, type.name);
    const std::uint32_t bytes = element_bytes(reduction.operation, reduction.type);
    if (reduction.element_bytes == bytes) return "";
    return fmt::format("an element of {} has {} bytes in {}, not {}", type.name, bytes, operation, reduction.element_bytes);
}

std::uint16_t number_of(const Reduction& reduction) noexcept {
    const auto what = reduction.operation == Operator::function ? std::min(reduction.element_bytes, kLargestSize) |
                                                                      static_cast<std::uint32_t>(reduction.is_commutative) << kSizeBits
                                                                : static_cast<std::uint32_t>(reduction.type);
    return static_cast<std::uint16_t>((static_cast<std::uint32_t>(reduction.operation) + 1) |
                                      static_cast<std::uint32_t>(reduction.by_rank) << kOperatorBits | what << kWhat);
}

Reduction reduction_of_number(std::uint16_t number) noexcept {
    Reduction reduction;
    reduction.operation = static_cast<Operator>((number & ((1u << kOperatorBits) - 1)) - 1);
    reduction.by_rank = (number >> kOperatorBits & 1) != 0;
    const std::uint32_t what = number >> kWhat;
    if (reduction.operation == Operator::function) {
        reduction.element_bytes = what & kLargestSize;
        reduction.is_commutative = (what >> kSizeBits) != 0;
    } else if (reduction.operation < Operator::function && what < kTypes.size()) {
        reduction.type = static_cast<ElementType>(what);
        reduction.element_bytes = element_bytes(reduction.operation, reduction.type);
    }
    return reduction;
}

std::string reduction_name(std::uint16_t number) {
    const Reduction reduction = reduction_of_number(number);
    if (number == 0 || reduction.operation > Operator::function) return "an unknown reduction";
    const char* const order = reduction.by_rank ? ", by rank" : "";
    if (reduction.operation != Operator::function)
        return fmt::format("{} of {}{}", kOperators[static_cast<std::size_t>(reduction.operation)],
                           kTypes[static_cast<std::size_t>(reduction.type)].name, order);
    return fmt::format("{} of elements of {}{} bytes{}", reduction.is_commutative ? "commutative function" : "function",
                       reduction.element_bytes, reduction.element_bytes == kLargestSize ? " or more" : "", order);
}

}  // namespace rollcall::inline foundation
