// Reductions: every operator on every element type, against plain loops, at odd lengths and addresses.
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/reductions/kernels.hpp"
#include "collectives/reductions/reductions.hpp"
#include "foundation/reductions.hpp"
#include "tests/unit/random.hpp"

namespace rollcall::collectives {
namespace {

constexpr int kOperators = static_cast<int>(Operator::function);

float float_of(Float16 half) {
    const int exponent = half.bits >> 10 & 31, mantissa = half.bits & 1023;
    float value = exponent == 31  ? (mantissa ? NAN : INFINITY)
                  : exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                  : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
    return half.bits & 0x8000 ? -value : value;
}
float float_of(BFloat16 half) { return std::bit_cast<float>(static_cast<std::uint32_t>(half.bits) << 16); }

/// The nearest of all numbers of the format, by looking at all of them; of two the even one.
template <class T>
std::uint16_t nearest(float value, std::uint16_t infinity) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return 0xFFFF;
    const double magnitude = std::fabs(static_cast<double>(value));
    std::uint16_t low = 0, high = infinity;  // the largest not above, by bisection: bits of numbers are ordered as the numbers are
    while (high - low > 1) {
        const auto middle = static_cast<std::uint16_t>((low + high) / 2);
        (static_cast<double>(float_of(T{middle})) <= magnitude ? low : high) = middle;
    }
    const double below = static_cast<double>(float_of(T{low}));
    // Infinity stands where the next number would be.
    const double above = high == infinity ? 2 * below - static_cast<double>(float_of(T{static_cast<std::uint16_t>(low - 1)}))
                                          : static_cast<double>(float_of(T{high}));
    const bool up = magnitude - below > above - magnitude || (magnitude - below == above - magnitude && low % 2 == 1);
    return static_cast<std::uint16_t>((std::isinf(value) || up ? high : low) | sign);
}

template <class T>
T combined(Operator operation, T a, T b) {
    switch (operation) {
        case Operator::sum: return static_cast<T>(a + b);
        case Operator::product: return static_cast<T>(a * b);
        case Operator::minimum:
        case Operator::maximum:
            if constexpr (std::is_floating_point_v<T>) {
                if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
                if (a == b) return (operation == Operator::minimum) == std::signbit(a) ? a : b;  // -0 is below +0
            }
            return (operation == Operator::minimum) == (b < a) ? b : a;
        default: break;
    }
    if constexpr (std::is_integral_v<T>) {
        switch (operation) {
            case Operator::logical_and: return a && b;
            case Operator::logical_or: return a || b;
            case Operator::logical_xor: return !a != !b;
            case Operator::bitwise_and: return static_cast<T>(a & b);
            case Operator::bitwise_or: return static_cast<T>(a | b);
            case Operator::bitwise_xor: return static_cast<T>(a ^ b);
            default: break;
        }
    }
    ADD_FAILURE();
    return a;
}

/// What the kernel is to give, of elements as bytes. Integers are computed without a sign, so that they wrap.
template <class T>
T expected(Operator operation, T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        if (operation == Operator::sum) return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
        if (operation == Operator::product) return static_cast<T>(std::uint64_t{static_cast<U>(a)} * static_cast<U>(b));
    }
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
        const std::uint16_t infinity = std::is_same_v<T, Float16> ? 0x7C00 : 0x7F80;
        return {nearest<T>(combined(operation, float_of(a), float_of(b)), infinity)};
    } else if constexpr (requires { a.location; }) {
        const auto number = [](auto value) {
            if constexpr (requires { value.bits; })
                return float_of(value);
            else
                return value;
        };
        const auto one = number(a.value), other = number(b.value);
        const auto is_nan = [](auto value) { return value != value; };
        if (is_nan(one) != is_nan(other)) return is_nan(other) ? b : a;
        const bool is_minimum = operation == Operator::minimum_location;
        const bool better = is_minimum ? other < one : other > one, alike = one == other || is_nan(one);
        if (alike && a.location == b.location) {
            return std::signbit(static_cast<double>(other)) == is_minimum ? b : a;
        }
        return better || (alike && b.location < a.location) ? b : a;
    } else if constexpr (requires { a.real(); }) {
        if (operation == Operator::sum) return a + b;
        return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    } else {
        return combined(operation, a, b);
    }
}

template <class T>
bool same(T one, T other) {
    if constexpr (requires { one.location; }) {
        return one.location == other.location && same(one.value, other.value);
    } else if constexpr (requires { one.bits; }) {
        if (std::isnan(float_of(one)) && std::isnan(float_of(other))) return true;
    } else if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(one) && std::isnan(other)) return true;
    }
    return std::memcmp(&one, &other, sizeof(T)) == 0;
}

template <class T>
T random_element(std::mt19937_64& random) {
    if constexpr (requires { T{}.location; }) {
        const auto location = static_cast<std::int64_t>(random() % 5);
        if constexpr (requires { T{}.value.bits; }) {
            static constexpr std::uint16_t kBits[] = {0, 0x8000, 0x3C00, 0xBC00, 0x0001, 0x7C00, 0x7F80, 0x7FFF};
            return {{random() % 2 ? kBits[random() % 8] : static_cast<std::uint16_t>(random())}, location};
        } else if constexpr (std::is_floating_point_v<decltype(T{}.value)>) {
            using Value = decltype(T{}.value);
            const Value values[] = {Value(-0.0), 0, 1, -1, std::numeric_limits<Value>::quiet_NaN()};
            return {values[random() % 5], location};
        } else {
            return {static_cast<decltype(T{}.value)>(random() % 5), location};
        }
    } else if constexpr (requires { T{}.real(); }) {
        const auto part = [&] { return static_cast<typename T::value_type>(static_cast<std::int64_t>(random())) / 3; };
        const auto real = part();
        return {real, part()};
    } else if constexpr (std::is_floating_point_v<T>) {
        const T special[] = {0, T(-0.0), std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN(), 1};
        if (random() % 8 == 0) return special[random() % 5];
        return static_cast<T>(static_cast<std::int64_t>(random())) / 1000;
    } else {
        T element{};
        const std::uint64_t bits = random() % 8 == 0 ? 0 : random();
        std::memcpy(&element, &bits, sizeof(T));
        return element;
    }
}

template <class T>
void expect_kernel(std::mt19937_64& random, Operator operation) {
    using Element = detail::ElementOf<T>;
    SCOPED_TRACE(fmt::format("operator {}, type {}", static_cast<int>(operation), static_cast<int>(Element::type)));
    Reduction reduction;
    reduction.operation = operation;
    reduction.type = Element::type;
    reduction.element_bytes = sizeof(T);
    ASSERT_EQ(what_is_wrong(reduction), "");
    const Combiner combine = combiner_of(reduction);
    for (const std::size_t count : {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 100, 257}) {
        std::vector<T> a(count), b(count);
        for (T& element : a) element = random_element<T>(random);
        for (T& element : b) element = random_element<T>(random);
        const std::size_t bytes = count * sizeof(T);
        const std::size_t shift_a = random() % 64, shift_b = random() % 64, shift_into = random() % 64;
        std::vector<std::byte> left(bytes + 64), right(bytes + 64), apart(bytes + 128, std::byte{0x5a});
        if (count) std::memcpy(left.data() + shift_a, a.data(), bytes);
        if (count) std::memcpy(right.data() + shift_b, b.data(), bytes);
        combine(apart.data() + shift_into, left.data() + shift_a, right.data() + shift_b, bytes);
        const auto expect_right = [&](const std::byte* got, const char* where) {
            for (std::size_t i = 0; i < count; ++i) {
                T element;
                std::memcpy(&element, got + i * sizeof(T), sizeof(T));
                ASSERT_TRUE(same(element, expected(operation, a[i], b[i]))) << where << ": element " << i << " of " << count;
            }
        };
        expect_right(apart.data() + shift_into, "apart");
        for (std::size_t i = 0; i < apart.size(); ++i) {
            const bool is_inside = i >= shift_into && i < shift_into + bytes;
            ASSERT_TRUE(is_inside || apart[i] == std::byte{0x5a}) << "written outside, at " << i;
        }
        // Into the one, and into the other.
        std::vector<std::byte> again = left;
        combine(again.data() + shift_a, again.data() + shift_a, right.data() + shift_b, bytes);
        expect_right(again.data() + shift_a, "into the left one");
        combine(right.data() + shift_b, left.data() + shift_a, right.data() + shift_b, bytes);
        expect_right(right.data() + shift_b, "into the right one");
        if (operation == Operator::minimum || operation == Operator::maximum) {
            std::vector<T> forth(count), back(count);
            combine(forth.data(), a.data(), b.data(), bytes);
            combine(back.data(), b.data(), a.data(), bytes);
            ASSERT_TRUE(count == 0 || std::memcmp(forth.data(), back.data(), bytes) == 0) << "the order matters, with " << count;
        }
        if (testing::Test::HasFatalFailure()) return;
    }
}

template <class... T>
void expect_all_kernels(std::mt19937_64& random) {
    const auto of_type = [&]<class One>(One*) {
        for (int operation = 0; operation < kOperators; ++operation) {
            using Element = detail::ElementOf<One>;
            if (is_defined(static_cast<Operator>(operation), Element::type, Element::is_located))
                expect_kernel<One>(random, static_cast<Operator>(operation));
        }
    };
    (of_type(static_cast<T*>(nullptr)), ...);
}

TEST(Reductions, EveryOperatorOnEveryType) {
    auto random = seeded_random();
    expect_all_kernels<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t,
                       float, double, Float16, BFloat16, std::complex<float>, std::complex<double>, Located<std::int8_t>,
                       Located<std::int16_t>, Located<std::int32_t>, Located<std::int64_t>, Located<std::uint8_t>, Located<std::uint16_t>,
                       Located<std::uint32_t>, Located<std::uint64_t>, Located<float>, Located<double>, Located<Float16>,
                       Located<BFloat16>>(random);
}

// Each pair of these numbers, in both orders and at each place of a vector and of the rest behind it. The result has the same bits
// anywhere.
template <class T>
void expect_any_order(std::initializer_list<T> values) {
    for (const bool is_minimum : {true, false}) {
        const Combiner combine = combiner_of(is_minimum ? reduction_of<T>(minimum) : reduction_of<T>(maximum));
        for (const T& one : values)
            for (const T& other : values) {
                T expected;
                combine(&expected, &one, &other, sizeof(T));
                const std::vector<T> ones(67, one), others(67, other);
                for (std::size_t count = 1; count <= ones.size(); ++count) {
                    std::vector<T> forth(count), back(count);
                    combine(forth.data(), ones.data(), others.data(), count * sizeof(T));
                    combine(back.data(), others.data(), ones.data(), count * sizeof(T));
                    for (const auto& got : {forth, back})
                        for (const T& element : got) ASSERT_EQ(std::memcmp(&element, &expected, sizeof(T)), 0) << "of " << count;
                }
            }
    }
}
template <class T>
void expect_any_order_of_numbers() {
    using Limits = std::numeric_limits<T>;
    expect_any_order<T>({T(0), T(-0.0), T(1), T(-1), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN(),
                         Limits::denorm_min()});
    T least, nan = Limits::quiet_NaN();
    const T one = 1, zero = 0, below = T(-0.0);
    for (const auto& combine : {combiner_of(reduction_of<T>(minimum)), combiner_of(reduction_of<T>(maximum))}) {
        combine(&least, &nan, &one, sizeof(T));
        EXPECT_TRUE(std::isnan(least));
        combine(&least, &one, &nan, sizeof(T));
        EXPECT_TRUE(std::isnan(least));
    }
    combiner_of(reduction_of<T>(minimum))(&least, &zero, &below, sizeof(T));
    EXPECT_TRUE(std::signbit(least));
    combiner_of(reduction_of<T>(maximum))(&least, &below, &zero, sizeof(T));
    EXPECT_FALSE(std::signbit(least));
}
TEST(Reductions, ExtremesOfNotANumberInAnyOrder) {
    expect_any_order_of_numbers<float>();
    expect_any_order_of_numbers<double>();
    expect_any_order<Float16>({{0}, {0x8000}, {0x3C00}, {0xBC00}, {0x7C00}, {0xFC00}, {0x7E00}, {0xFE01}, {0x0001}});
    expect_any_order<BFloat16>({{0}, {0x8000}, {0x3F80}, {0xBF80}, {0x7F80}, {0xFF80}, {0x7FC0}, {0xFFC1}, {0x0001}});
}

// Each half there is, plus the smallest one and times one: conversions to and from float are exact, and rounding is right.
TEST(Reductions, EveryHalf) {
    const auto all = [](auto half, std::uint16_t one, std::uint16_t infinity) {
        using T = decltype(half);
        const Combiner product = combiner_of(reduction_of<T>(rollcall::product)), sum = combiner_of(reduction_of<T>(rollcall::sum));
        std::vector<T> every(1 << 16), ones(1 << 16, T{one}), result(1 << 16), small(1 << 16, T{static_cast<std::uint16_t>(one + 3)});
        for (std::size_t i = 0; i < every.size(); ++i) every[i].bits = static_cast<std::uint16_t>(i);
        product(result.data(), every.data(), ones.data(), every.size() * sizeof(T));
        for (std::size_t i = 0; i < every.size(); ++i) ASSERT_TRUE(same(result[i], every[i])) << i;
        sum(result.data(), every.data(), small.data(), every.size() * sizeof(T));
        for (std::size_t i = 0; i < every.size(); ++i)
            ASSERT_TRUE(same(result[i], T{nearest<T>(float_of(every[i]) + float_of(small[i]), infinity)})) << i;
    };
    all(Float16{}, 0x3C00, 0x7C00);
    all(BFloat16{}, 0x3F80, 0x7F80);
}

struct Affine {
    std::int64_t a, b;
};
int add_one_more(const int& left, const int& right) noexcept { return left + right + 1; }
constexpr auto kCompose = [](const Affine& left, const Affine& right) noexcept {
    return Affine{left.a * right.a, left.a * right.b + left.b};
};

TEST(Reductions, FunctionsOfTheProgram) {
    const Reduction reduction = reduction_of<Affine>(kCompose);
    EXPECT_EQ(reduction.operation, Operator::function);
    EXPECT_FALSE(reduction.is_commutative);
    const Combiner compose = combiner_of(reduction);
    EXPECT_FALSE(compose.any_order);
    std::vector<Affine> left = {{2, 3}, {5, 7}}, right = {{11, 13}, {17, 19}};
    compose(left.data(), left.data(), right.data(), 2 * sizeof(Affine));
    EXPECT_EQ(left[1].a, 85);
    EXPECT_EQ(left[1].b, 5 * 19 + 7);
    // It has its own copy of what it captured.
    int factor = 10;
    const Combiner scaled = combiner_of(reduction_of<int>([factor](const int& a, const int& b) noexcept { return factor * (a + b); }));
    factor = 0;
    int a = 1;
    const int b = 2;
    scaled(&a, &a, &b, sizeof a);
    EXPECT_EQ(a, 30);
    // A plain function decays to a pointer.
    const Combiner plain_functions[] = {combiner_of(reduction_of<int>(add_one_more)), combiner_of(reduction_of<int>(&add_one_more)),
                                        combiner_of(reduction_of<int>(by_rank(add_one_more)))};
    for (const Combiner& plain : plain_functions) {
        plain(&a, &b, &b, sizeof a);
        EXPECT_EQ(a, 5);
    }
}

TEST(Reductions, OrderCountsWhereResultsAreRounded) {
    EXPECT_TRUE(combiner_of(reduction_of<float>(sum)).any_order);
    EXPECT_FALSE(combiner_of(reduction_of<float>(by_rank(sum))).any_order);
    EXPECT_TRUE(combiner_of(reduction_of<int>(by_rank(sum))).any_order);
    EXPECT_TRUE(combiner_of(reduction_of<double>(by_rank(maximum))).any_order);
    EXPECT_TRUE(combiner_of(reduction_of<float>(by_rank(sum))).is_commutative);
}

TEST(Reductions, NumbersAndNames) {
    EXPECT_EQ(reduction_name(number_of(reduction_of<float>(sum))), "sum of float32");
    EXPECT_EQ(reduction_name(number_of(reduction_of<double>(by_rank(product)))), "product of float64, by rank");
    EXPECT_EQ(reduction_name(number_of(reduction_of<Located<int>>(minimum_location))), "minimum_location of int32");
    EXPECT_EQ(reduction_name(number_of(reduction_of<Affine>(kCompose))), "function of elements of 16 bytes");
    EXPECT_EQ(reduction_name(0), "an unknown reduction");
    EXPECT_EQ(reduction_name(15), "an unknown reduction");
    // Back from the number, and of a function only its caller knows what it does.
    for (int operation = 0; operation < kOperators; ++operation)
        for (int type = 0; type <= static_cast<int>(ElementType::complex128); ++type) {
            Reduction reduction;
            reduction.operation = static_cast<Operator>(operation);
            reduction.type = static_cast<ElementType>(type);
            const bool located = operation >= static_cast<int>(Operator::minimum_location);
            if (!is_defined(reduction.operation, reduction.type, located)) continue;
            reduction.element_bytes = element_bytes(reduction.operation, reduction.type);
            const Combiner again = combiner_of(number_of(reduction));
            EXPECT_EQ(again.function, combiner_of(reduction).function);
            EXPECT_EQ(again.element_bytes, reduction.element_bytes);
        }
    EXPECT_EQ(combiner_of(number_of(reduction_of<Affine>(kCompose))).function, nullptr);
}

TEST(Reductions, WrongOnesAreTold) {
    Reduction reduction = reduction_of<float>(sum);
    reduction.operation = Operator::bitwise_and;
    EXPECT_EQ(what_is_wrong(reduction), "there is no bitwise_and of float32");
    reduction = reduction_of<float>(sum);
    reduction.element_bytes = 8;
    EXPECT_EQ(what_is_wrong(reduction), "an element of float32 has 4 bytes in sum, not 8");
    reduction.operation = Operator::function;
    EXPECT_EQ(what_is_wrong(reduction), "the function that combines elements is null");
    reduction.operation = static_cast<Operator>(200);
    EXPECT_EQ(what_is_wrong(reduction), "there is no operator with the number 200");
    reduction = reduction_of<float>(sum);
    reduction.type = static_cast<ElementType>(99);
    EXPECT_EQ(what_is_wrong(reduction), "there is no element type with the number 99");
    EXPECT_EQ(what_is_wrong(reduction_of<float>(sum)), "");
}

}  // namespace
}  // namespace rollcall::collectives
