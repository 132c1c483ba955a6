/// \file
/// What goes over a network of libfabric's: the headers of this transport.
#pragma once

#include <cstdint>

namespace rollcall::transport::ofi {

/// Of addresses and messages. It grows when one of them changes.
inline constexpr std::uint32_t kVersion = 1;

enum class Kind : std::uint8_t {
    message,    ///< Eager: the header, and all of the payload.
    first,      ///< Eager, longer than a packet: `Numbers`, the header, and the first bytes of the payload.
    more,       ///< The bytes that follow.
    offer,      ///< `Numbers`: which transfer of the sender, how many bytes; then the header.
    grant,      ///< `Numbers`: which transfer, and which fetch of the receiver gets it. From now on the sender pushes.
    decline,    ///< `Numbers`: which transfer.
    data,       ///< `Numbers`: which fetch; then bytes, in order.
    withdrawn,  ///< `Numbers`: which fetch. There are no more bytes: the sender gave the message up.
    put         ///< `Numbers`: the place on the board; then words.
};

/// Every packet begins with this.
struct Prefix {
    Kind kind = Kind::message;
    std::uint8_t header_size = 0;
    std::uint16_t reserved = 0;
    std::int32_t source = -1;  ///< The rank it is from.
};

/// What follows the prefix of most kinds.
struct Numbers {
    std::uint64_t which = 0;
    std::uint64_t size = 0;  ///< Or the other number.
};

/// A packet is at most so long: what tcp;ofi_rxm sends without asking the receiver first.
inline constexpr std::size_t kPacketBytes = 16384;

}  // namespace rollcall::transport::ofi
