/// \file
/// What tests must know of the sanitizer that looks at them.
#pragma once

// GCC says by itself that it builds with the address sanitizer; Clang says it in another way.
#if !defined(__SANITIZE_ADDRESS__) && defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

namespace rollcall::test {

/// The undefined-behaviour sanitizer looks at objects through a pipe, and calls one broken where there is no descriptor left: unless it has
/// seen another one of the class before.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr const char* kNeedsDescriptors = "the sanitizer itself needs descriptors";
#else
inline constexpr const char* kNeedsDescriptors = nullptr;
#endif

}  // namespace rollcall::test
