/// \file
/// The format in which transports write the address of a process: parts of any length, one after the other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rollcall::transport {

/// Appends a part to the address.
void append(std::vector<std::byte>& address, const void* data, std::size_t size);

/// Returns the part with this number, or nothing when the address is damaged.
std::span<const std::byte> part(std::span<const std::byte> address, int number);

}  // namespace rollcall::transport
