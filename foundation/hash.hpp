/// \file
/// One hash for what must be the same in all processes (std::hash need not be). Not for use against an adversary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rollcall::inline foundation {

inline constexpr std::uint64_t kEmptyHash = 0xcbf29ce484222325ull;

/// FNV-1a, 64 bits: the hash of what `hash` is of, followed by these bytes.
inline std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t hash = kEmptyHash) noexcept {
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3ull;
    return hash;
}

}  // namespace rollcall::inline foundation
