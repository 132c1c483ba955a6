/// \file
/// How the elements that ranks bring to a reduce, scan, ... become one: sums, minima, ..., and functions of the program's own.
///
///     world.allreduce(values, rollcall::sum);
///     world.reduce(mine, total, rollcall::by_rank(rollcall::sum), 0);
///     world.allreduce(matrix, [](const Matrix& left, const Matrix& right) noexcept { return left * right; });
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include <rollcall/buffer.hpp>

namespace rollcall {

/// What the library knows how to combine by itself. The numbers travel: a new one goes to the end.
enum class ElementType : std::uint8_t {
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float32,
    float64,
    float16,    ///< IEEE 754 half precision: combined as float32, and rounded to the nearest, ties to even.
    bfloat16,   ///< The upper half of a float32; the same.
    complex64,  ///< Two float32.
    complex128  ///< Two float64.
};

/// Minima and maxima: where elements do not compare (NaN), that of the lower rank is kept. A logical one is 1 or 0. Integers wrap.
enum class Operator : std::uint8_t {
    sum,
    product,
    minimum,
    maximum,
    logical_and,
    logical_or,
    logical_xor,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    minimum_location,  ///< Of Located elements: the smaller value; of equal ones that with the smaller location.
    maximum_location,
    function  ///< Of the program.
};

/// A value, and where it is: a rank, an index. `T` is int32, int64, float or double (or what has their layout).
template <class T>
struct Located {
    T value;
    std::int64_t location;

    bool operator==(const Located&) const = default;
};

/// The bits of numbers that C++20 has no types for.
struct Float16 {
    std::uint16_t bits;
};
struct BFloat16 {
    std::uint16_t bits;
};

/// Whether f(a, b) and f(b, a) are the same. A function that does not say so combines in rank order.
///     template <>
///     inline constexpr bool rollcall::commutes<MyFunction> = true;
template <class F>
inline constexpr bool commutes = false;

/// What is combined, and how: made of an operator or function and an element type. All ranks must give the same, of which the
/// operator, the element type or its size, whether it commutes, and by_rank are compared.
struct Reduction {
    /// into[i] = left[i] combined with right[i], for `count` elements. `into` may be `left` or `right`. Must not throw, and must be
    /// associative: how operands are bracketed differs.
    using Combine = void (*)(const void* state, void* into, const void* left, const void* right, std::uint64_t count);

    Operator operation = Operator::sum;
    ElementType type = ElementType::uint8;
    bool is_commutative = true;
    /// The result is the same to the last bit whoever comes first. (Of integers it always is.)
    bool by_rank = false;
    std::uint32_t element_bytes = 1;
    Combine combine = nullptr;            ///< Operator::function: that.
    alignas(8) std::byte state[16] = {};  ///< And what is handed to it, a copy.
};

namespace detail {

template <class T>
struct ElementOf;
template <ElementType kType, std::uint32_t kBytes, bool kLocated = false>
struct KnownElement {
    static constexpr ElementType type = kType;
    static constexpr std::uint32_t bytes = kBytes;
    static constexpr bool is_located = kLocated;
};
template <std::integral T>
struct ElementOf<T> : KnownElement<static_cast<ElementType>((std::is_signed_v<T> ? 0 : 4) + (sizeof(T) == 1   ? 0
                                                                                             : sizeof(T) == 2 ? 1
                                                                                             : sizeof(T) == 4 ? 2
                                                                                                              : 3)),
                                   sizeof(T)> {};
template <>
struct ElementOf<std::byte> : KnownElement<ElementType::uint8, 1> {};
template <>
struct ElementOf<float> : KnownElement<ElementType::float32, 4> {};
template <>
struct ElementOf<double> : KnownElement<ElementType::float64, 8> {};
template <>
struct ElementOf<Float16> : KnownElement<ElementType::float16, 2> {};
template <>
struct ElementOf<BFloat16> : KnownElement<ElementType::bfloat16, 2> {};
template <>
struct ElementOf<std::complex<float>> : KnownElement<ElementType::complex64, 8> {};
template <>
struct ElementOf<std::complex<double>> : KnownElement<ElementType::complex128, 16> {};
template <class T>
struct ElementOf<Located<T>> : KnownElement<ElementOf<T>::type, sizeof(Located<T>), true> {};

}  // namespace detail

/// Whether an operator is defined for elements of this type (`located`: for Located values of it).
constexpr bool is_defined(Operator operation, ElementType type, bool located = false) noexcept {
    const bool is_integer = type <= ElementType::uint64;
    const bool is_complex = type >= ElementType::complex64;
    const bool has_located =
        type == ElementType::int32 || type == ElementType::int64 || type == ElementType::float32 || type == ElementType::float64;
    switch (operation) {
        case Operator::sum:
        case Operator::product: return !located;
        case Operator::minimum:
        case Operator::maximum: return !located && !is_complex;
        case Operator::logical_and:
        case Operator::logical_or:
        case Operator::logical_xor:
        case Operator::bitwise_and:
        case Operator::bitwise_or:
        case Operator::bitwise_xor: return !located && is_integer;
        case Operator::minimum_location:
        case Operator::maximum_location: return located && has_located;
        case Operator::function: return true;
    }
    return false;
}

/// An operator as a value: rollcall::sum, ...
template <Operator kOperator>
struct OperatorFunction {};
inline constexpr OperatorFunction<Operator::sum> sum;
inline constexpr OperatorFunction<Operator::product> product;
inline constexpr OperatorFunction<Operator::minimum> minimum;
inline constexpr OperatorFunction<Operator::maximum> maximum;
inline constexpr OperatorFunction<Operator::logical_and> logical_and;
inline constexpr OperatorFunction<Operator::logical_or> logical_or;
inline constexpr OperatorFunction<Operator::logical_xor> logical_xor;
inline constexpr OperatorFunction<Operator::bitwise_and> bitwise_and;
inline constexpr OperatorFunction<Operator::bitwise_or> bitwise_or;
inline constexpr OperatorFunction<Operator::bitwise_xor> bitwise_xor;
inline constexpr OperatorFunction<Operator::minimum_location> minimum_location;
inline constexpr OperatorFunction<Operator::maximum_location> maximum_location;

/// The same with a result that does not depend on who comes first, to the last bit.
template <class F>
struct ByRank {
    F function;
};
template <class F>
constexpr ByRank<F> by_rank(F function) {
    return {function};
}

namespace detail {

template <class F, class T>
inline constexpr bool kReduces = false;
template <Operator kOperator, class T>
requires requires { ElementOf<T>::type; }
inline constexpr bool kReduces<OperatorFunction<kOperator>, T> = is_defined(kOperator, ElementOf<T>::type, ElementOf<T>::is_located);
template <class F, class T>
requires std::is_nothrow_invocable_r_v<T, const F&, const T&, const T&>
inline constexpr bool kReduces<F, T> = std::is_trivially_copyable_v<F> && sizeof(F) <= sizeof(Reduction::state) && alignof(F) <= 8;
template <class F, class T>
inline constexpr bool kReduces<ByRank<F>, T> = kReduces<F, T>;

}  // namespace detail

/// What combines elements of type T: an operator that is defined for them, or a function T(const T&, const T&) that is noexcept,
/// trivially copyable and of 16 bytes at most; it is copied, and must be associative.
template <class F, class T>
concept Reduces = detail::kReduces<std::remove_cvref_t<F>, T>;

/// How F combines elements of type T.
template <class T, class F>
requires Reduces<F, T> Reduction reduction_of(const F& function) {
    Reduction reduction;
    if constexpr (std::is_nothrow_invocable_r_v<T, const F&, const T&, const T&>) {
        reduction.operation = Operator::function;
        reduction.is_commutative = commutes<F>;
        reduction.element_bytes = sizeof(T);
        reduction.combine = [](const void* state, void* into, const void* left, const void* right, std::uint64_t count) {
            const F& combine = *static_cast<const F*>(state);
            // Elements may lie at any address.
            for (std::uint64_t i = 0; i < count; ++i) {
                T one, other;
                std::memcpy(static_cast<void*>(std::addressof(one)), static_cast<const std::byte*>(left) + i * sizeof(T), sizeof(T));
                std::memcpy(static_cast<void*>(std::addressof(other)), static_cast<const std::byte*>(right) + i * sizeof(T), sizeof(T));
                const T combined = combine(one, other);
                std::memcpy(static_cast<std::byte*>(into) + i * sizeof(T), std::addressof(combined), sizeof(T));
            }
        };
        std::memcpy(reduction.state, std::addressof(function), sizeof(F));
    } else if constexpr (requires { function.function; }) {
        reduction = reduction_of<T>(function.function);
        reduction.by_rank = true;
    } else {
        reduction.type = detail::ElementOf<T>::type;
        reduction.element_bytes = detail::ElementOf<T>::bytes;
        [&]<Operator kOperator>(const OperatorFunction<kOperator>&) { reduction.operation = kOperator; }(function);
    }
    return reduction;
}

}  // namespace rollcall
