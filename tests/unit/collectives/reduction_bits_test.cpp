// Reductions: the bits of a result depend neither on the floating-point mode of the program nor on the order of the operands.
#include <bit>
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rollcall/reduction.hpp>

#include "collectives/reductions/reductions.hpp"
#include "foundation/reductions.hpp"
#include "tests/unit/random.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace rollcall::collectives {
namespace {

/// The modes that a program may set.
enum class Mode { usual, rounds_down, rounds_to_zero, flushes_to_zero };

/// Sets the mode of this thread until the end of the scope. `mode_word()` is what the processor then has.
class InMode {
  public:
    explicit InMode(Mode mode) {
        std::fegetenv(&found_);
        if (mode == Mode::rounds_down) std::fesetround(FE_DOWNWARD);
        if (mode == Mode::rounds_to_zero) std::fesetround(FE_TOWARDZERO);
#if defined(__x86_64__)
        // What programs that GCC links with -ffast-math begin with: subnormal numbers count as zero, and none comes out.
        if (mode == Mode::flushes_to_zero) _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
    }
    ~InMode() { std::fesetenv(&found_); }
    InMode(const InMode&) = delete;
    InMode& operator=(const InMode&) = delete;

  private:
    std::fenv_t found_;
};

unsigned mode_word() {
#if defined(__x86_64__)
    return _mm_getcsr() & ~0x3Fu;  // without the exceptions that have happened
#else
    return static_cast<unsigned>(std::fegetround());
#endif
}

std::vector<std::uint16_t> random_words(std::mt19937_64& random, std::size_t bytes) {
    std::vector<std::uint16_t> words(bytes / 2 + 1);
    for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = static_cast<std::uint16_t>(random());
        // Many numbers are subnormal in each of the formats: a sign, no exponent, and the lowest bits.
        if (random() % 2) words[i] &= 0x800F;
    }
    return words;
}

TEST(ReductionBits, AreThoseOfTheUsualModeInAnyModeOfTheProgram) {
    auto random = seeded_random();
    for (int operation = 0; operation < static_cast<int>(Operator::function); ++operation)
        for (int type = 0; type <= static_cast<int>(ElementType::complex128); ++type) {
            Reduction reduction;
            reduction.operation = static_cast<Operator>(operation);
            reduction.type = static_cast<ElementType>(type);
            if (!is_defined(reduction.operation, reduction.type, reduction.operation >= Operator::minimum_location)) continue;
            SCOPED_TRACE(fmt::format("operator {}, type {}", operation, type));
            reduction.element_bytes = element_bytes(reduction.operation, reduction.type);
            const Combiner combine = combiner_of(reduction);
            const std::size_t bytes = 203 * reduction.element_bytes;
            const auto left = random_words(random, bytes), right = random_words(random, bytes);
            std::vector<std::byte> usual(bytes), other(bytes);
            combine(usual.data(), left.data(), right.data(), bytes);
            for (const Mode mode : {Mode::rounds_down, Mode::rounds_to_zero, Mode::flushes_to_zero}) {
                const InMode in_mode(mode);
                const unsigned before = mode_word();
                combine(other.data(), left.data(), right.data(), bytes);
                ASSERT_EQ(mode_word(), before) << "the program has another mode afterwards";
                ASSERT_EQ(usual, other) << "in mode " << static_cast<int>(mode);
            }
        }
}

#if defined(__x86_64__)
TEST(ReductionBits, OfSubnormalNumbersWhereTheProgramHasNone) {
    const InMode in_mode(Mode::flushes_to_zero);
    const std::uint32_t five = 5, two = 2;
    std::uint32_t got = 0;
    combiner_of(reduction_of<float>(minimum))(&got, &five, &two, sizeof got);
    EXPECT_EQ(got, 2u);
    combiner_of(reduction_of<float>(maximum))(&got, &five, &two, sizeof got);
    EXPECT_EQ(got, 5u);
    const Float16 one{0x0200}, other{0x0100};
    Float16 half{};
    combiner_of(reduction_of<Float16>(sum))(&half, &one, &other, sizeof half);
    EXPECT_EQ(half.bits, 0x0300);
}
#endif

// Ranks that bring a NaN in the same place may come in any order.
template <class T>
void expect_one_of_two(T one, T other) {
    for (const auto& combine :
         {combiner_of(reduction_of<Located<T>>(minimum_location)), combiner_of(reduction_of<Located<T>>(maximum_location))}) {
        const Located<T> a{one, 3}, b{other, 3};
        Located<T> forth{}, back{};
        combine(&forth, &a, &b, sizeof a);
        combine(&back, &b, &a, sizeof a);
        EXPECT_EQ(forth.location, 3);
        EXPECT_EQ(std::memcmp(&forth.value, &back.value, sizeof(T)), 0);
    }
}
TEST(ReductionBits, OfTwoNotANumbersInOnePlaceAreTheSameInAnyOrder) {
    expect_one_of_two<Float16>({0x7E01}, {0xFE02});
    expect_one_of_two<BFloat16>({0x7FC1}, {0xFFC2});
    expect_one_of_two<float>(std::bit_cast<float>(0x7FC00001u), std::bit_cast<float>(0xFFC00002u));
    expect_one_of_two<double>(std::bit_cast<double>(0x7FF8000000000001u), std::bit_cast<double>(0xFFF8000000000002u));
}

}  // namespace
}  // namespace rollcall::collectives
