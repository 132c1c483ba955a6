// Loops over elements. They are compiled once for each kind of processor, and chosen at run time. Functions of the standard library must
// not be instantiated in the part that is compiled repeatedly: the linker keeps one copy, which may be for the wrong processor. Products of
// 8 and 64 bits are plain loops, because Highway does not have them on all processors. located_kernels.cpp has minima and maxima with a
// location.
//
// Every processor computes the same bits, but for the sign and the payload of a NaN that an arithmetic operator gives. Minima are
// comparisons, so that NaNs and zeros are treated alike in all lanes and in any order. No operations are fused (-ffp-contract=off). Halves
// are converted by operations that are exact, or round as the format does. All of this is done in the mode in which processes start
// (floating_mode.hpp), in which subnormal numbers are numbers like others.
#include "collectives/reductions/kernels.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "collectives/reductions/floating_mode.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/reductions/kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rollcall::collectives {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Function = Combiner::Function;

template <class T>
T load(const void* from, std::uint64_t i) {
    T value;
    std::memcpy(&value, static_cast<const char*>(from) + i * sizeof(T), sizeof(T));
    return value;
}
template <class T>
void store(void* into, std::uint64_t i, T value) {
    std::memcpy(static_cast<char*>(into) + i * sizeof(T), &value, sizeof(T));
}

/// Tells the compiler that no buffer has more elements, so that it does not provide for such counts.
inline void expect_possible(std::uint64_t count) {
    if (count >> 56) __builtin_unreachable();
}

/// The type in which integers are computed, so that they wrap.
template <class T>
struct WrappingOf {
    using Type = T;
};
template <>
struct WrappingOf<std::int8_t> {
    using Type = std::uint32_t;
};
template <>
struct WrappingOf<std::uint8_t> : WrappingOf<std::int8_t> {};
template <>
struct WrappingOf<std::int16_t> : WrappingOf<std::int8_t> {};
template <>
struct WrappingOf<std::uint16_t> : WrappingOf<std::int8_t> {};
template <>
struct WrappingOf<std::int32_t> : WrappingOf<std::int8_t> {};
template <>
struct WrappingOf<std::int64_t> {
    using Type = std::uint64_t;
};

// --- one operator: of scalars, and of vectors where Highway has it ---------------------------------------------------------------

template <Operator kOperator>
struct Combine {
    static constexpr bool kIsExtreme = kOperator == Operator::minimum || kOperator == Operator::maximum;
    /// Whether there is a form for vectors of T.
    template <class T>
    static constexpr bool has_wide() {
        return kOperator != Operator::product || std::is_floating_point_v<T> || sizeof(T) == 2 || sizeof(T) == 4;
    }
    template <class T>
    static T one(T left, T right) {
        using W = typename WrappingOf<T>::Type;
        if constexpr (kOperator == Operator::sum) return static_cast<T>(static_cast<W>(left) + static_cast<W>(right));
        if constexpr (kOperator == Operator::product) return static_cast<T>(static_cast<W>(left) * static_cast<W>(right));
        if constexpr (kIsExtreme && std::is_floating_point_v<T>) {
            const hn::CappedTag<T, 1> kOne;
            return hn::GetLane(wide(hn::Set(kOne, left), hn::Set(kOne, right)));
        } else {
            if constexpr (kOperator == Operator::minimum) return right < left ? right : left;
            if constexpr (kOperator == Operator::maximum) return left < right ? right : left;
        }
        if constexpr (kOperator == Operator::logical_and) return static_cast<T>(left != 0 && right != 0);
        if constexpr (kOperator == Operator::logical_or) return static_cast<T>(left != 0 || right != 0);
        if constexpr (kOperator == Operator::logical_xor) return static_cast<T>((left != 0) != (right != 0));
        if constexpr (kOperator == Operator::bitwise_and) return static_cast<T>(left & right);
        if constexpr (kOperator == Operator::bitwise_or) return static_cast<T>(left | right);
        if constexpr (kOperator == Operator::bitwise_xor) return static_cast<T>(left ^ right);
    }
    template <class V>
    static V wide(V left, V right) {
        if constexpr (kOperator == Operator::sum) return hn::Add(left, right);
        if constexpr (kOperator == Operator::product) return hn::Mul(left, right);
        if constexpr (kIsExtreme && std::is_floating_point_v<hn::TFromV<V>>) return extreme(left, right);
        if constexpr (kOperator == Operator::minimum) return hn::IfThenElse(hn::Lt(right, left), right, left);
        if constexpr (kOperator == Operator::maximum) return hn::IfThenElse(hn::Lt(left, right), right, left);
        if constexpr (kOperator == Operator::logical_and) return hn::And(truth(left), truth(right));
        if constexpr (kOperator == Operator::logical_or) return hn::Or(truth(left), truth(right));
        if constexpr (kOperator == Operator::logical_xor) return hn::Xor(truth(left), truth(right));
        if constexpr (kOperator == Operator::bitwise_and) return hn::And(left, right);
        if constexpr (kOperator == Operator::bitwise_or) return hn::Or(left, right);
        if constexpr (kOperator == Operator::bitwise_xor) return hn::Xor(left, right);
    }

  private:
    /// 1 where an integer is not 0, and 0 elsewhere.
    template <class V>
    static V truth(V integers) {
        const hn::DFromV<V> d;
        return hn::IfThenElseZero(hn::Ne(integers, hn::Zero(d)), hn::Set(d, 1));
    }
    /// The minimum or maximum of numbers that may be NaN. It is the same for (left, right) and (right, left): of two zeros the minimum has
    /// the sign bit if one of them has it, the maximum if both have it. A NaN gives always the same NaN, so that the bits do not depend on
    /// which of several it was.
    template <class V>
    static V extreme(V left, V right) {
        const auto is_less = hn::Lt(left, right), is_greater = hn::Lt(right, left), is_equal = hn::Eq(left, right);
        const V nan = hn::NaN(hn::DFromV<V>());
        if constexpr (kOperator == Operator::minimum) {
            const V alike = hn::IfThenElse(is_equal, hn::Or(left, right), nan);
            return hn::IfThenElse(is_less, left, hn::IfThenElse(is_greater, right, alike));
        } else {
            const V alike = hn::IfThenElse(is_equal, hn::And(left, right), nan);
            return hn::IfThenElse(is_less, right, hn::IfThenElse(is_greater, left, alike));
        }
    }
};

/// Combines elements of a type for which Highway has vectors.
template <class T, Operator kOperator>
void combine(const void*, void* into, const void* left, const void* right, std::uint64_t count) {
    using C = Combine<kOperator>;
    expect_possible(count);
    [[maybe_unused]] const FloatingModeOf<std::is_floating_point_v<T>> mode;
    std::uint64_t i = 0;
    if constexpr (C::template has_wide<T>()) {
        constexpr hn::ScalableTag<T> kWide;
        const std::uint64_t lanes = hn::Lanes(kWide);
        const auto at = [](const void* from, std::uint64_t element) { return static_cast<const T*>(from) + element; };
        for (; i + lanes <= count; i += lanes)
            hn::StoreU(C::wide(hn::LoadU(kWide, at(left, i)), hn::LoadU(kWide, at(right, i))), kWide, static_cast<T*>(into) + i);
    }
    for (; i < count; ++i) store<T>(into, i, C::one(load<T>(left, i), load<T>(right, i)));
}

// --- halves: as floats -----------------------------------------------------------------------------------------------------------

// Converts the bits of a half to those of a float, and back, rounded to the nearest, ties to even. The bits are in vectors of 32-bit
// integers, so that the result is the same everywhere.
struct Half {
    template <class D, class V>
    static V to_float(D d, V bits) {
        const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d, 0x8000)));
        const auto magnitude = hn::And(bits, hn::Set(d, 0x7FFF));
        const hn::RebindToFloat<D> f;
        // The bits are taken as mantissa and exponent of a float, whose exponent is then 112 too small. A product corrects it, which is
        // exact also for subnormal numbers.
        const auto scaled = hn::Mul(hn::BitCast(f, hn::ShiftLeft<13>(magnitude)), hn::Set(f, 0x1p112f));
        auto value = hn::BitCast(d, scaled);
        const auto is_special = hn::Gt(magnitude, hn::Set(d, 0x7BFF));
        value = hn::IfThenElse(is_special, hn::Or(hn::ShiftLeft<13>(magnitude), hn::Set(d, 0x7F800000)), value);
        return hn::Or(value, sign);
    }
    template <class D, class V>
    static V from_float(D d, V bits) {
        const hn::RebindToFloat<D> f;
        const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 0x8000));
        const auto magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFF));
        const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d, 1));
        const auto normal = hn::ShiftRight<13>(hn::Add(hn::Add(magnitude, odd), hn::Set(d, 0xFFFu - (112u << 23))));
        // When a number below 2^-14 is added to 0.5, it is rounded to a multiple of 2^-24. The lowest bits then hold that multiple.
        const auto small = hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(f, magnitude), hn::Set(f, 0.5f))), hn::Set(d, 0x3F000000));
        auto value = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x38800000)), small, normal);
        value = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, 0x477FEFFF)), hn::Set(d, 0x7C00), value);
        value = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, 0x7F800000)), hn::Set(d, 0x7E00), value);
        return hn::Or(value, sign);
    }
};

struct Brain {
    template <class D, class V>
    static V to_float(D, V bits) {
        return hn::ShiftLeft<16>(bits);
    }
    template <class D, class V>
    static V from_float(D d, V bits) {
        const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
        const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, odd), hn::Set(d, 0x7FFF)));
        const auto is_nan = hn::Gt(hn::And(bits, hn::Set(d, 0x7FFFFFFF)), hn::Set(d, 0x7F800000));
        return hn::IfThenElse(is_nan, hn::Or(hn::ShiftRight<16>(bits), hn::Set(d, 0x40)), rounded);
    }
};

template <class Format, Operator kOperator>
void combine_halves(const void*, void* into, const void* left, const void* right, std::uint64_t count) {
    const UsualFloatingMode mode;
    constexpr hn::ScalableTag<std::uint32_t> kBits;
    const hn::Rebind<std::uint16_t, decltype(kBits)> halves;
    const hn::RebindToFloat<decltype(kBits)> floats;
    const std::uint64_t lanes = hn::Lanes(kBits);
    const auto combined = [&](const std::uint16_t* a, const std::uint16_t* b, std::uint16_t* to) {
        const auto one = hn::BitCast(floats, Format::to_float(kBits, hn::PromoteTo(kBits, hn::LoadU(halves, a))));
        const auto other = hn::BitCast(floats, Format::to_float(kBits, hn::PromoteTo(kBits, hn::LoadU(halves, b))));
        const auto both = Format::from_float(kBits, hn::BitCast(kBits, Combine<kOperator>::wide(one, other)));
        // Unsigned numbers can only be narrowed with saturation, and from a signed view. That is harmless: they are below 2^16.
        const hn::RebindToSigned<decltype(kBits)> wide_signed;
        hn::StoreU(hn::DemoteTo(halves, hn::BitCast(wide_signed, both)), halves, to);
    };
    std::uint64_t i = 0;
    const auto* const a = static_cast<const std::uint16_t*>(left);
    const auto* const b = static_cast<const std::uint16_t*>(right);
    for (; i + lanes <= count; i += lanes) combined(a + i, b + i, static_cast<std::uint16_t*>(into) + i);
    if (i == count) return;
    // The remaining elements go into a vector of their own.
    HWY_ALIGN std::uint16_t rest[3][HWY_MAX_BYTES / sizeof(std::uint32_t)] = {};
    const std::size_t bytes = (count - i) * sizeof(std::uint16_t);
    std::memcpy(rest[0], a + i, bytes);
    std::memcpy(rest[1], b + i, bytes);
    combined(rest[0], rest[1], rest[2]);
    std::memcpy(static_cast<std::uint16_t*>(into) + i, rest[2], bytes);
}

// --- complex numbers ----------------------------------------------------------------------------------------------------------------

template <class T>
struct Pair {
    T real, imaginary;
};

template <class T>
void multiply_complex(const void*, void* into, const void* left, const void* right, std::uint64_t count) {
    expect_possible(count);
    const UsualFloatingMode mode;
    constexpr hn::ScalableTag<T> kWide;
    const std::uint64_t lanes = hn::Lanes(kWide);
    const auto parts_at = [](const void* from, std::uint64_t element) { return static_cast<const T*>(from) + 2 * element; };
    std::uint64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        hn::Vec<decltype(kWide)> a, a_imaginary, b, b_imaginary;
        hn::LoadInterleaved2(kWide, parts_at(left, i), a, a_imaginary);
        hn::LoadInterleaved2(kWide, parts_at(right, i), b, b_imaginary);
        const auto real = hn::Sub(hn::Mul(a, b), hn::Mul(a_imaginary, b_imaginary));
        const auto imaginary = hn::Add(hn::Mul(a, b_imaginary), hn::Mul(a_imaginary, b));
        hn::StoreInterleaved2(real, imaginary, kWide, static_cast<T*>(into) + 2 * i);
    }
    for (; i < count; ++i) {
        const auto a = load<Pair<T>>(left, i), b = load<Pair<T>>(right, i);
        store<Pair<T>>(into, i, {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real});
    }
}
template <class T>
void add_complex(const void* state, void* into, const void* left, const void* right, std::uint64_t count) {
    combine<T, Operator::sum>(state, into, left, right, 2 * count);
}

// --- which -----------------------------------------------------------------------------------------------------------------------

template <class T>
Function of_numbers(Operator operation) {
    switch (operation) {
        case Operator::sum: return &combine<T, Operator::sum>;
        case Operator::product: return &combine<T, Operator::product>;
        case Operator::minimum: return &combine<T, Operator::minimum>;
        case Operator::maximum: return &combine<T, Operator::maximum>;
        default: return nullptr;
    }
}
template <class T>
Function of_integers(Operator operation) {
    switch (operation) {
        case Operator::logical_and: return &combine<T, Operator::logical_and>;
        case Operator::logical_or: return &combine<T, Operator::logical_or>;
        case Operator::logical_xor: return &combine<T, Operator::logical_xor>;
        case Operator::bitwise_and: return &combine<T, Operator::bitwise_and>;
        case Operator::bitwise_or: return &combine<T, Operator::bitwise_or>;
        case Operator::bitwise_xor: return &combine<T, Operator::bitwise_xor>;
        default: return of_numbers<T>(operation);
    }
}
template <class Format>
Function of_halves(Operator operation) {
    switch (operation) {
        case Operator::sum: return &combine_halves<Format, Operator::sum>;
        case Operator::product: return &combine_halves<Format, Operator::product>;
        case Operator::minimum: return &combine_halves<Format, Operator::minimum>;
        case Operator::maximum: return &combine_halves<Format, Operator::maximum>;
        default: return nullptr;
    }
}
Function find_kernel(Operator operation, ElementType type) {
    switch (type) {
        case ElementType::int8: return of_integers<std::int8_t>(operation);
        case ElementType::int16: return of_integers<std::int16_t>(operation);
        case ElementType::int32: return of_integers<std::int32_t>(operation);
        case ElementType::int64: return of_integers<std::int64_t>(operation);
        case ElementType::uint8: return of_integers<std::uint8_t>(operation);
        case ElementType::uint16: return of_integers<std::uint16_t>(operation);
        case ElementType::uint32: return of_integers<std::uint32_t>(operation);
        case ElementType::uint64: return of_integers<std::uint64_t>(operation);
        case ElementType::float32: return of_numbers<float>(operation);
        case ElementType::float64: return of_numbers<double>(operation);
        case ElementType::float16: return of_halves<Half>(operation);
        case ElementType::bfloat16: return of_halves<Brain>(operation);
        case ElementType::complex64: return operation == Operator::sum ? &add_complex<float> : &multiply_complex<float>;
        case ElementType::complex128: return operation == Operator::sum ? &add_complex<double> : &multiply_complex<double>;
    }
    return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace rollcall::collectives
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "collectives/vectors/targets.hpp"

namespace rollcall::collectives {

Combiner::Function kernel_of(Operator operation, ElementType type) noexcept {
    if (operation == Operator::minimum_location || operation == Operator::maximum_location) return located_kernel_of(operation, type);
    return ROLLCALL_BEST_TARGET(find_kernel)(operation, type);
}

}  // namespace rollcall::collectives
#endif
