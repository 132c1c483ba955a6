#include "collectives/vectors/targets.hpp"

namespace rollcall::collectives {

std::int64_t supported_vector_targets() noexcept {
#if HWY_ARCH_X86
#define ROLLCALL_HAS(feature) (__builtin_cpu_supports(feature) != 0)
    const bool ssse3 = ROLLCALL_HAS("ssse3");
    const bool sse4 = ssse3 && ROLLCALL_HAS("sse4.1") && ROLLCALL_HAS("sse4.2") && ROLLCALL_HAS("aes") && ROLLCALL_HAS("pclmul");
    // Every processor that has all these also has F16C and LZCNT, which Clang 16 cannot ask for.
    const bool avx2 = sse4 && ROLLCALL_HAS("avx2") && ROLLCALL_HAS("fma") && ROLLCALL_HAS("bmi") && ROLLCALL_HAS("bmi2");
    const bool avx3 = avx2 && ROLLCALL_HAS("avx512f") && ROLLCALL_HAS("avx512vl") && ROLLCALL_HAS("avx512dq") &&
                      ROLLCALL_HAS("avx512bw") && ROLLCALL_HAS("avx512cd");
#undef ROLLCALL_HAS
    return HWY_SCALAR | HWY_EMU128 | (ssse3 ? HWY_SSSE3 : 0) | (sse4 ? HWY_SSE4 : 0) | (avx2 ? HWY_AVX2 : 0) | (avx3 ? HWY_AVX3 : 0);
#else
    return HWY_STATIC_TARGET;
#endif
}

hwy::ChosenTarget& chosen_vector_target() noexcept {
    static struct Supported : hwy::ChosenTarget {
        Supported() { Update(supported_vector_targets()); }
    } chosen;
    return chosen;
}

}  // namespace rollcall::collectives
