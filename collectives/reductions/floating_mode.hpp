/// \file
/// The floating-point mode in which elements are combined. Programs may have set another one: those that GCC links with -ffast-math begin
/// with a mode without subnormal numbers, and other programs change how numbers are rounded. Each thread has its own mode, so without this
/// the result would also depend on which thread combines.
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace rollcall::collectives {

/// Sets the mode in which processes start, until the end of the scope. If that is the program's mode, nothing is written: to read the mode
/// takes a few cycles, to write it many more.
class UsualFloatingMode {
  public:
    UsualFloatingMode() noexcept : found_(read()) {
        if (!is_usual()) write(kUsual);
        keep_order();
    }
    ~UsualFloatingMode() {
        keep_order();
        if (!is_usual()) write(found_);
    }
    UsualFloatingMode(const UsualFloatingMode&) = delete;
    UsualFloatingMode& operator=(const UsualFloatingMode&) = delete;

  private:
    /// The compiler does not know that arithmetic depends on the mode. But operands are loaded after the first of these, and results are
    /// stored before the second one.
    static void keep_order() noexcept { asm volatile("" ::: "memory"); }

#if defined(__x86_64__)
    using Word = std::uint32_t;
    static constexpr Word kUsual = 0x1F80, kExceptionsThatHappened = 0x3F;
    static Word read() noexcept { return _mm_getcsr(); }
    static void write(Word word) noexcept { _mm_setcsr(word); }
    bool is_usual() const noexcept { return (found_ & ~kExceptionsThatHappened) == kUsual; }
#elif defined(__aarch64__)
    using Word = std::uint64_t;
    static constexpr Word kUsual = 0;
    static Word read() noexcept {
        Word word;
        asm volatile("mrs %0, fpcr" : "=r"(word));
        return word;
    }
    static void write(Word word) noexcept { asm volatile("msr fpcr, %0" ::"r"(word)); }
    bool is_usual() const noexcept { return found_ == kUsual; }
#else
    // Other processors combine in the mode of the program.
    using Word = int;
    static constexpr Word kUsual = 0;
    static Word read() noexcept { return kUsual; }
    static void write(Word) noexcept {}
    bool is_usual() const noexcept { return true; }
#endif

    Word found_;
};

/// What a kernel keeps while it runs. Integers need no mode.
struct AnyFloatingMode {};
template <bool kFloats>
using FloatingModeOf = std::conditional_t<kFloats, UsualFloatingMode, AnyFloatingMode>;

}  // namespace rollcall::collectives
