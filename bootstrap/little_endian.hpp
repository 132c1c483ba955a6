/// \file
/// Integers as bytes of a message, the lowest byte first.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>

namespace rollcall::bootstrap {

template <std::unsigned_integral Integer>
std::array<std::byte, sizeof(Integer)> little_endian(Integer value) {
    std::array<std::byte, sizeof(Integer)> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>((value >> (8 * i)) & 0xff);
    return bytes;
}

/// Reads from the first bytes.
template <std::unsigned_integral Integer>
Integer from_little_endian(std::span<const std::byte> bytes) {
    Integer value = 0;
    for (std::size_t i = 0; i < sizeof(Integer); ++i) value = static_cast<Integer>(value | (static_cast<Integer>(bytes[i]) << (8 * i)));
    return value;
}

}  // namespace rollcall::bootstrap
