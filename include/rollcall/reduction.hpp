/// \file
/// How a reduce, scan, ... combines the elements of the ranks: by sums, minima and other operators, or by functions of the program.
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

/// The element types that the library can combine by itself. (For maintainers: the numbers are sent to other ranks; add new types at the
/// end.)
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
    float16,    ///< IEEE 754 half precision. Combined as float32, then rounded to the nearest, ties to even.
    bfloat16,   ///< The upper half of a float32. Combined and rounded as float16 is.
    complex64,  ///< Two float32.
    complex128  ///< Two float64.
};

/// The operators. Minimum and maximum give NaN if one of the elements is NaN, whichever rank brings it; the bits of that NaN may differ.
/// For them -0 is below +0. Logical operators give 1 or 0 where they combine two elements; an element that is combined with no other stays
/// as it is. Integers wrap on overflow. is_defined() says which operator is defined for which type. A call with `sum` for elements of type
/// bool does not compile, because a bool cannot hold the sum of two: use logical_or, or sum integers to count.
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
    /// For Located elements: the one with the smaller value; of equal values, the one with the smaller location. A NaN counts as smaller
    /// than all numbers, and NaNs as equal. The two zeros are equal.
    minimum_location,
    /// The same, with the larger value. A NaN counts as larger than all numbers.
    maximum_location,
    function  ///< A function of the program.
};

/// The bits of an IEEE 754 half-precision number, for which C++20 has no type.
struct Float16 {
    std::uint16_t bits;  ///< Sign, exponent and fraction, from the highest bit down.

    /// True if the bits are equal: for two equal NaNs, but not for the two zeros.
    bool operator==(const Float16&) const = default;
};
/// The bits of a bfloat16 number (the upper half of a float32), for which C++20 has no type.
struct BFloat16 {
    std::uint16_t bits;  ///< Sign, exponent and fraction, from the highest bit down.

    /// True if the bits are equal: for two equal NaNs, but not for the two zeros.
    bool operator==(const BFloat16&) const = default;
};

/// A value and its location, such as a rank or an index, for minimum_location and maximum_location. `T` is an integer of up to 64 bits,
/// float, double, Float16 or BFloat16. With each of them an element has 16 bytes.
template <class T>
struct Located {
    T value;                ///< The value that is compared.
    std::int64_t location;  ///< Where the value is.

    /// True if values and locations are equal.
    bool operator==(const Located&) const = default;
};

/// True if f(a, b) and f(b, a) are always equal for a function of type F. Specialise it for a function that commutes:
///     template <>
///     inline constexpr bool rollcall::commutes<MyFunction> = true;
/// All other functions combine elements in rank order.
template <class F>
inline constexpr bool commutes = false;

/// What is combined and how: an operator or a function, and an element type. reduction_of() makes one. All ranks must give the same
/// Reduction, else Error{mismatch}. Ranks compare the operator and by_rank; for operators also the element type; for functions also
/// is_commutative and the element size. Sizes above 1022 bytes count as equal; then also the count is compared in bytes only.
struct Reduction {
    /// A function that sets into[i] to left[i] combined with right[i], for `count` elements. `into` may be `left` or `right`. It must not
    /// throw, and it must be associative, because the order in which elements are grouped differs. Any thread that moves data may call it.
    /// It must not call Rollcall: that thread holds a lock, for which the call would wait forever. The operands are aligned as elements in
    /// memory of malloc() are, if the buffers of the calls are.
    using Combine = void (*)(const void* state, void* into, const void* left, const void* right, std::uint64_t count);

    Operator operation = Operator::sum;     ///< How elements are combined.
    ElementType type = ElementType::uint8;  ///< The type of the elements, or of the value of Located elements. Not used for functions.
    bool is_commutative = true;             ///< For Operator::function: false combines in rank order.
    /// True: the result is the same to the last bit in whichever order the ranks arrive. For integers it always is.
    bool by_rank = false;
    std::uint32_t element_bytes = 1;      ///< The size of an element in bytes, above 0.
    Combine combine = nullptr;            ///< For Operator::function: the function.
    alignas(8) std::byte state[16] = {};  ///< For Operator::function: a copy of this is its `state` argument.
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
requires(sizeof(T) <= 8) struct ElementOf<T>
    : KnownElement<static_cast<ElementType>((std::is_signed_v<T> ? 0 : 4) + (sizeof(T) == 1   ? 0
                                                                             : sizeof(T) == 2 ? 1
                                                                             : sizeof(T) == 4 ? 2
                                                                                              : 3)),
                   sizeof(T)> {
};
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

/// Returns whether an operator is defined for elements of this type. With `located`: for Located elements with values of this type.
constexpr bool is_defined(Operator operation, ElementType type, bool located = false) noexcept {
    const bool is_integer = type <= ElementType::uint64;
    const bool is_complex = type >= ElementType::complex64;
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
        case Operator::maximum_location: return located && !is_complex;
        case Operator::function: return true;
    }
    return false;
}

/// The type of the operators as values, such as rollcall::sum.
template <Operator kOperator>
struct OperatorFunction {};
/// \{
/// An operator as a value, for calls such as `world.allreduce(values, rollcall::sum)`.
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
/// \}

/// The result of by_rank().
template <class F>
struct ByRank {
    F function;  ///< The function that by_rank() was given.
};
/// Makes an operator or function whose result is the same to the last bit in whichever order the ranks arrive.
template <class F>
constexpr ByRank<F> by_rank(F function) {
    return {function};
}

namespace detail {

template <class F, class T>
inline constexpr bool kReduces = false;
template <Operator kOperator, class T>
requires requires { ElementOf<T>::type; }
inline constexpr bool kReduces<OperatorFunction<kOperator>, T> =
    is_defined(kOperator, ElementOf<T>::type, ElementOf<T>::is_located) && !(kOperator == Operator::sum && std::is_same_v<T, bool>);
template <class F, class T>
requires std::is_nothrow_invocable_r_v<T, const F&, const T&, const T&>
inline constexpr bool kReduces<F, T> =
    std::is_trivially_copyable_v<F> && sizeof(F) <= sizeof(Reduction::state) && alignof(F) <= 8 && std::default_initializable<T>;
template <class F, class T>
inline constexpr bool kReduces<ByRank<F>, T> = kReduces<F, T>;

}  // namespace detail

/// What can combine elements of type T: an operator that is defined for T, or a function T(const T&, const T&). The function must be
/// noexcept, trivially copyable, at most 16 bytes large with an alignment of at most 8, and associative. T must have a default constructor.
/// The function must not call Rollcall (Reduction::Combine). The library keeps a copy of it; of a plain function it keeps the address.
template <class F, class T>
concept Reduces = detail::kReduces<std::decay_t<F>, T>;

/// Makes the Reduction by which the operator or function `function` combines elements of type T.
template <class T, class F>
requires Reduces<F, T> Reduction reduction_of(const F& function) {
    using Kept = std::decay_t<F>;  // of a plain function, a pointer to it
    Reduction reduction;
    if constexpr (std::is_nothrow_invocable_r_v<T, const Kept&, const T&, const T&>) {
        const Kept kept = function;
        reduction.operation = Operator::function;
        reduction.is_commutative = commutes<Kept>;
        reduction.element_bytes = sizeof(T);
        reduction.combine = [](const void* state, void* into, const void* left, const void* right, std::uint64_t count) {
            const Kept& combine = *static_cast<const Kept*>(state);
            // Elements may lie at any address.
            for (std::uint64_t i = 0; i < count; ++i) {
                T one, other;
                std::memcpy(static_cast<void*>(std::addressof(one)), static_cast<const std::byte*>(left) + i * sizeof(T), sizeof(T));
                std::memcpy(static_cast<void*>(std::addressof(other)), static_cast<const std::byte*>(right) + i * sizeof(T), sizeof(T));
                const T combined = combine(one, other);
                std::memcpy(static_cast<std::byte*>(into) + i * sizeof(T), std::addressof(combined), sizeof(T));
            }
        };
        std::memcpy(reduction.state, std::addressof(kept), sizeof(Kept));
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
