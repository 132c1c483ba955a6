/// \file
/// Copies of long data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rollcall::inline foundation {

/// Whether the copy instruction of some processors (rep movsb) is slow for these addresses: where `to` is a few bytes behind `from`, apart
/// from whole pages. AMD's Zen 3 then copies 3 GB/s instead of 50. This is no rare case: malloc() places long buffers 16 bytes behind the
/// begin of a page, and shared memory begins with a page.
inline bool is_slow_for_copy_instruction(const void* to, const void* from) noexcept {
    constexpr std::uintptr_t kPage = 4096, kBehind = 32;
    const std::uintptr_t distance = (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % kPage;
    return distance - 1 < kBehind - 1;
}

/// Copies as memcpy() does, in pieces that are too short for memcpy() to use the copy instruction.
void copy_without_instruction(void* to, const void* from, std::size_t size) noexcept;

/// Copies `size` bytes, as memcpy() does, but is also fast where the copy instruction is slow. glibc's memcpy() uses that instruction for
/// more than 2 KiB. The ranges must not overlap. No memory order.
inline void copy_bytes(void* to, const void* from, std::size_t size) noexcept {
    constexpr std::size_t kShort = 1024;
    if (size > kShort && is_slow_for_copy_instruction(to, from)) return copy_without_instruction(to, from, size);
    if (size > 0) std::memcpy(to, from, size);
}

/// The same for data that is mostly one word: a call of memcpy() would take longer than that copy.
inline void copy_short(void* to, const void* from, std::size_t size) noexcept {
    if (size == sizeof(std::uint64_t))
        std::memcpy(to, from, sizeof(std::uint64_t));
    else if (size > 0)
        std::memcpy(to, from, size);
}

}  // namespace rollcall::inline foundation
