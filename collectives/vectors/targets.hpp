// Highway compiles functions once for each of its targets, which are kinds of processors. This chooses among the targets at run time.
// Highway's own choice is in libhwy, which measures its timer for milliseconds in every process that loads it. So only headers are used.
#pragma once

#include <hwy/highway.h>

#include <cstdint>

namespace rollcall::collectives {

/// The targets that this processor can run, as bits of Highway.
std::int64_t supported_vector_targets() noexcept;

/// The targets that are chosen from; tests change them.
hwy::ChosenTarget& chosen_vector_target() noexcept;

}  // namespace rollcall::collectives

/// The function of this name for the best of the chosen targets.
#if HWY_ARCH_X86
#define ROLLCALL_BEST_TARGET(function)                                                                         \
    [] {                                                                                                       \
        static constexpr decltype(&HWY_STATIC_DISPATCH(function)) functions[HWY_MAX_DYNAMIC_TARGETS + 2] = {   \
            nullptr, HWY_CHOOSE_TARGET_LIST(function), HWY_CHOOSE_FALLBACK(function)};                         \
        return functions[chosen_vector_target().GetIndex()];                                                          \
    }()
#else  // The compiler's options choose.
#define ROLLCALL_BEST_TARGET(function) HWY_STATIC_DISPATCH(function)
#endif
