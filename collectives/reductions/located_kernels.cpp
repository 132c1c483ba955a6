// Minima and maxima with a location. As in kernels.cpp, loops are compiled once for each kind of processor, and every processor computes
// the same bits. Values of less than 64 bits have unused bytes behind them, and are compared in a plain loop.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "collectives/reductions/floating_mode.hpp"
#include "collectives/reductions/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/reductions/located_kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rollcall::collectives {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Function = Combiner::Function;

// --- what is compared ------------------------------------------------------------------------------------------------------------

template <class T>
T comparable(T value) {
    return value;
}
template <class T>
bool is_nan(T value) {
    if constexpr (std::is_floating_point_v<T>) return __builtin_isnan(value);
    return false;
}
template <class T>
bool has_sign(T value) {
    if constexpr (std::is_floating_point_v<T>) return __builtin_signbit(value);
    return value < T{};
}
/// The NaN that stands for several, so that the bits do not depend on their order.
template <class T>
T common_nan(T value) {
    if constexpr (std::is_floating_point_v<T>) return hn::GetLane(hn::NaN(hn::CappedTag<T, 1>()));
    return value;
}

// Numbers of 16 bits are compared as integers: the bits behind the sign grow with the magnitude, and both zeros are 0.
constexpr int kMagnitude = 0x7FFF, kInfiniteHalf = 0x7C00, kInfiniteBrain = 0x7F80;
constexpr int of_bits(std::uint16_t bits) {
    const int magnitude = bits & kMagnitude;
    return bits > kMagnitude ? -magnitude : magnitude;
}
inline int comparable(Float16 value) { return of_bits(value.bits); }
inline int comparable(BFloat16 value) { return of_bits(value.bits); }
inline bool is_nan(Float16 value) { return (value.bits & kMagnitude) > kInfiniteHalf; }
inline bool is_nan(BFloat16 value) { return (value.bits & kMagnitude) > kInfiniteBrain; }
inline bool has_sign(Float16 value) { return value.bits > kMagnitude; }
inline bool has_sign(BFloat16 value) { return value.bits > kMagnitude; }
inline Float16 common_nan(Float16) { return {0x7E00}; }
inline BFloat16 common_nan(BFloat16) { return {0x7FC0}; }

// --- loops -----------------------------------------------------------------------------------------------------------------------

/// As many elements as fill whole vectors, where the value takes as many bytes as the location. Returns how many.
template <class T, bool kMaximum>
std::uint64_t locate_wide(void* into, const void* left, const void* right, std::uint64_t count) {
    using Word = std::int64_t;
    static_assert(sizeof(Located<T>) == 2 * sizeof(Word) && offsetof(Located<T>, location) == sizeof(Word));
    constexpr hn::ScalableTag<Word> kWords;
    const hn::Rebind<T, decltype(kWords)> numbers;
    const auto words_at = [](const void* from, std::uint64_t element) { return static_cast<const Word*>(from) + 2 * element; };
    const std::uint64_t lanes = hn::Lanes(kWords);
    std::uint64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        hn::Vec<decltype(kWords)> a, b, here, there;
        hn::LoadInterleaved2(kWords, words_at(left, i), a, here);
        hn::LoadInterleaved2(kWords, words_at(right, i), b, there);
        const auto one = hn::BitCast(numbers, a), other = hn::BitCast(numbers, b);
        const auto is_same_place = hn::Eq(here, there);
        auto is_better = kMaximum ? hn::Lt(one, other) : hn::Lt(other, one);
        const auto are_alike = hn::Eq(one, other);
        auto takes_right = hn::And(hn::RebindMask(kWords, are_alike), hn::Lt(there, here));
        if constexpr (std::is_floating_point_v<T>) {
            const auto with_sign = hn::Lt(kMaximum ? a : b, hn::Zero(kWords));
            takes_right = hn::Or(takes_right, hn::And(hn::And(hn::RebindMask(kWords, are_alike), is_same_place), with_sign));
            const auto is_number = hn::Eq(one, one), is_other_number = hn::Eq(other, other);
            is_better = hn::Or(is_better, hn::AndNot(is_other_number, is_number));
            const auto are_nan = hn::RebindMask(kWords, hn::Not(hn::Or(is_number, is_other_number)));
            takes_right = hn::Or(takes_right, hn::And(are_nan, hn::Lt(there, here)));
            const auto same_nan = hn::And(are_nan, is_same_place);
            a = hn::IfThenElse(same_nan, hn::BitCast(kWords, hn::NaN(numbers)), a);
        }
        takes_right = hn::Or(takes_right, hn::RebindMask(kWords, is_better));
        hn::StoreInterleaved2(hn::IfThenElse(takes_right, b, a), hn::IfThenElse(takes_right, there, here), kWords,
                              static_cast<Word*>(into) + 2 * i);
    }
    return i;
}

template <class T, bool kMaximum>
void locate(const void*, void* into, const void* left, const void* right, std::uint64_t count) {
    if (count >> 56) __builtin_unreachable();  // no buffer has more elements, so the compiler need not provide for such counts
    [[maybe_unused]] const FloatingModeOf<std::is_floating_point_v<T>> mode;
    std::uint64_t i = 0;
    if constexpr (sizeof(T) == sizeof(std::int64_t)) i = locate_wide<T, kMaximum>(into, left, right, count);
    for (; i < count; ++i) {
        const std::uint64_t offset = i * sizeof(Located<T>);
        Located<T> a, b;
        std::memcpy(&a, static_cast<const char*>(left) + offset, sizeof a);
        std::memcpy(&b, static_cast<const char*>(right) + offset, sizeof b);
        const auto one = comparable(a.value), other = comparable(b.value);
        const bool one_is_nan = is_nan(a.value), other_is_nan = is_nan(b.value);
        const bool are_nan = one_is_nan && other_is_nan, are_equal = !one_is_nan && !other_is_nan && one == other;
        const bool is_better = other_is_nan ? !one_is_nan : !one_is_nan && (kMaximum ? one < other : other < one);
        const bool is_first = (are_equal || are_nan) && b.location < a.location;
        // Of two zeros in the same place the one that a minimum or maximum gives.
        const bool is_zero = are_equal && b.location == a.location && (kMaximum ? has_sign(a.value) : has_sign(b.value));
        // The bytes are moved, because a copied structure may have other bytes between its members.
        auto* const to = static_cast<char*>(into) + offset;
        std::memmove(to, static_cast<const char*>(is_better || is_first || is_zero ? right : left) + offset, sizeof(Located<T>));
        if (!are_nan || a.location != b.location) continue;
        const T nan = common_nan(a.value);
        std::memcpy(to + offsetof(Located<T>, value), &nan, sizeof nan);
    }
}

template <class T>
Function of_located(Operator operation) {
    return operation == Operator::maximum_location ? &locate<T, true> : &locate<T, false>;
}

Function find_located(Operator operation, ElementType type) {
    switch (type) {
        case ElementType::int8: return of_located<std::int8_t>(operation);
        case ElementType::int16: return of_located<std::int16_t>(operation);
        case ElementType::int32: return of_located<std::int32_t>(operation);
        case ElementType::int64: return of_located<std::int64_t>(operation);
        case ElementType::uint8: return of_located<std::uint8_t>(operation);
        case ElementType::uint16: return of_located<std::uint16_t>(operation);
        case ElementType::uint32: return of_located<std::uint32_t>(operation);
        case ElementType::uint64: return of_located<std::uint64_t>(operation);
        case ElementType::float32: return of_located<float>(operation);
        case ElementType::float64: return of_located<double>(operation);
        case ElementType::float16: return of_located<Float16>(operation);
        case ElementType::bfloat16: return of_located<BFloat16>(operation);
        case ElementType::complex64:
        case ElementType::complex128: break;
    }
    return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace rollcall::collectives
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "collectives/vectors/targets.hpp"

namespace rollcall::collectives {

Combiner::Function located_kernel_of(Operator operation, ElementType type) noexcept {
    return ROLLCALL_BEST_TARGET(find_located)(operation, type);
}

}  // namespace rollcall::collectives
#endif
