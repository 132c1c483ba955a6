/// \file
/// What tests must know of the sanitizer that looks at them, or at the processes that they start.
#pragma once

#include <algorithm>

// GCC says by itself with which sanitizer it builds. Clang says it in another way.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif
// A driver is built without the sanitizer of the processes that it starts (tests/CMakeLists.txt), which counts.
#if defined(__SANITIZE_ADDRESS__) || defined(ROLLCALL_TEST_STARTS_address)
#define ROLLCALL_TEST_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__) || defined(ROLLCALL_TEST_STARTS_thread)
#define ROLLCALL_TEST_THREAD_SANITIZER
#endif

namespace rollcall::test {

/// Sanitizers slow everything down by about this factor. Repeat counts are divided by it.
#if defined(ROLLCALL_TEST_THREAD_SANITIZER)
inline constexpr int kSlower = 8;
#elif defined(ROLLCALL_TEST_ADDRESS_SANITIZER)
inline constexpr int kSlower = 3;
#else
inline constexpr int kSlower = 1;
#endif
/// Whether a sanitizer is active. It needs memory and time of its own.
inline constexpr bool kSanitized = kSlower > 1;

/// Returns how often a test of random simulated jobs, which only computes, is repeated. A sanitizer looks at code, and it sees all of the
/// code in a tenth of the jobs. The builds without a sanitizer look for rare data.
constexpr int repetitions(int count) { return kSanitized ? std::max(1, count / 10) : count; }

/// The undefined-behaviour sanitizer looks at objects through a pipe, and calls one broken where there is no descriptor left: unless it has
/// seen another one of the class before.
#if defined(ROLLCALL_TEST_ADDRESS_SANITIZER)
inline constexpr const char* kNeedsDescriptors = "the sanitizer itself needs descriptors";
#else
inline constexpr const char* kNeedsDescriptors = nullptr;
#endif

}  // namespace rollcall::test
