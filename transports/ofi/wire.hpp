/// \file
/// The wire format: the headers that this transport sends over a network of libfabric.
#pragma once

#include <cstdint>

namespace rollcall::transport::ofi {

/// The version of addresses and messages. Must be increased when one of them changes.
inline constexpr std::uint32_t kVersion = 2;

enum class Kind : std::uint8_t {
    message,    ///< An eager message: the header and the whole payload.
    first,      ///< The first packet of a longer eager message: `Numbers`, the header, and the first bytes of the payload.
    more,       ///< The bytes that follow.
    offer,      ///< `Numbers`: the sender's number of the transfer, and its size in bytes. The header follows.
    grant,      ///< `Numbers`: the transfer, and the fetch of the receiver that gets it. The sender then pushes the data.
    decline,    ///< `Numbers`: the transfer.
    data,       ///< `Numbers`: the fetch. Bytes follow, in order.
    withdrawn,  ///< `Numbers`: the fetch. No more bytes follow, because the sender gave the message up.
    put         ///< `Numbers`: the offset on the board. Words follow.
};

/// Every packet begins with this prefix.
struct Prefix {
    Kind kind = Kind::message;
    std::uint8_t header_size = 0;
    std::uint16_t reserved = 0;
    std::int32_t source = -1;  ///< The rank of the sender.
};

/// Follows the prefix in packets of most kinds.
struct Numbers {
    std::uint64_t which = 0;
    std::uint64_t size = 0;  ///< Or the second number.
};

/// The longest packet, in bytes: what tcp;ofi_rxm sends without asking the receiver first.
inline constexpr std::size_t kPacketBytes = 16384;

}  // namespace rollcall::transport::ofi
