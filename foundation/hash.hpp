/// \file
/// Hash functions that give the same value in all processes, which std::hash need not do. Do not use them against an adversary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rollcall::inline foundation {

inline constexpr std::uint64_t kEmptyHash = 0xcbf29ce484222325ull;

/// FNV-1a with 64 bits. `hash` is the hash of the preceding bytes; the result is the hash of those bytes followed by `bytes`.
inline std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t hash = kEmptyHash) noexcept {
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3ull;
    return hash;
}

/// FNV-1a with 32 bits.
constexpr std::uint32_t short_hash_of(std::string_view text) noexcept {
    std::uint32_t hash = 0x811c9dc5u;
    for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x01000193u;
    return hash;
}

}  // namespace rollcall::inline foundation
