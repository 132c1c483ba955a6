#include "transports/address_parts.hpp"

#include <cstdint>
#include <cstring>

namespace rollcall::transport {

void append(std::vector<std::byte>& address, const void* data, std::size_t size) {
    const std::uint32_t length = static_cast<std::uint32_t>(size);
    const auto* length_bytes = reinterpret_cast<const std::byte*>(&length);
    address.insert(address.end(), length_bytes, length_bytes + sizeof length);
    const auto* bytes = static_cast<const std::byte*>(data);
    address.insert(address.end(), bytes, bytes + size);
}

std::span<const std::byte> part(std::span<const std::byte> address, int number) {
    for (;; --number) {
        std::uint32_t length;
        if (address.size() < sizeof length) return {};
        std::memcpy(&length, address.data(), sizeof length);
        address = address.subspan(sizeof length);
        if (address.size() < length) return {};
        if (number == 0) return address.first(length);
        address = address.subspan(length);
    }
}

}  // namespace rollcall::transport
