/// \file
/// A pause between two looks at a word that another core writes.
#pragma once

namespace rollcall::inline foundation {

/// Tells the processor that this thread waits: the other thread of the core goes faster, and the loop ends without a penalty.
inline void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace rollcall::inline foundation
