/// \file
/// A hash function that gives the same value in all processes, which std::hash need not do. Do not use it against an adversary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rollcall::inline foundation {

inline constexpr std::uint64_t kEmptyHash = 0xcbf29ce484222325ull;

/// FNV-1a with 64 bits. `hash` is the hash of the preceding bytes; the result is the hash of those bytes followed by `bytes`.
inline std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t hash = kEmptyHash) noexcept {
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3ull;
    return hash;
}

}  // namespace rollcall::inline foundation
