/// \file
/// The wire format: the headers that this transport sends over a network of libfabric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace rollcall::transport::ofi {

/// The version of addresses and messages. Must be increased when one of them changes.
inline constexpr std::uint32_t kVersion = 5;

enum class Kind : std::uint8_t {
    message,    ///< An eager message: the header and the whole payload.
    first,      ///< The first packet of a longer eager message: `Numbers`, the header, and the first bytes of the payload.
    more,       ///< The bytes that follow.
    offer,      ///< `Numbers`: the sender's number of the transfer, and its size in bytes. The header follows.
    grant,      ///< `Numbers`: the transfer, and the fetch of the receiver that gets it. The sender then pushes the data.
    expose,     ///< As `grant`, but the receiver can read the data. The sender may push it all the same.
    decline,    ///< `Numbers`: the transfer. The receiver does not want it, or has read all of it.
    exposed,    ///< `Numbers`: the fetch. `Exposed` follows: the receiver may read the data.
    data,       ///< `Numbers`: the fetch. Bytes follow, in order.
    withdrawn,  ///< `Numbers`: the fetch. No more bytes follow, because the sender gave the message up.
    lent,       ///< `Numbers`: a slot of the sender's shared memory with the number of the loan, and the size of the packet in it.
    put,        ///< `Numbers`: the offset on the board. Words follow.
    check       ///< `Numbers`: 1 asks for an answer (0). 2: packets of the receiver were lost. A gap before this packet shows lost packets.
};

/// Every packet begins with this prefix.
struct Prefix {
    Kind kind = Kind::message;
    std::uint8_t header_size = 0;
    /// Counts the packets from this sender to this receiver, from 0, modulo 65536. Libfabric drops what was injected, without a word, when
    /// a connection ends, and connects again for the next packet (tcp;ofi_rxm). So the receiver looks for gaps (PacketOrder).
    std::uint16_t number = 0;
    std::int32_t source = -1;  ///< The rank of the sender.
};

/// Follows the prefix in packets of most kinds.
struct Numbers {
    std::uint64_t which = 0;
    std::uint64_t size = 0;  ///< Or the second number.
};
inline bool has_numbers(Kind kind) { return kind != Kind::message && kind != Kind::more; }

/// Where a peer finds memory: the data of a transfer that it reads, or a board that it writes on.
struct Exposed {
    std::uint64_t address = 0;
    std::uint64_t key = 0;
};

/// The parts of a packet. The spans are valid as long as the packet.
struct Parsed {
    Prefix prefix;
    Numbers numbers;
    std::span<const std::byte> header, rest;

    /// Returns false if the packet is malformed.
    bool parse(std::span<const std::byte> packet) {
        if (packet.size() < sizeof prefix) return false;
        std::memcpy(&prefix, packet.data(), sizeof prefix);
        packet = packet.subspan(sizeof prefix);
        if (has_numbers(prefix.kind)) {
            if (packet.size() < sizeof numbers) return false;
            std::memcpy(&numbers, packet.data(), sizeof numbers);
            packet = packet.subspan(sizeof numbers);
        }
        if (packet.size() < prefix.header_size) return false;
        header = packet.first(prefix.header_size);
        rest = packet.subspan(prefix.header_size);
        return true;
    }
};

/// The longest packet, in bytes: what ofi_rxm sends without asking the receiver first.
inline constexpr std::size_t kPacketBytes = 16384;
/// The same over tcp, and over tcp;ofi_rxm where it can be told so (Endpoint).
inline constexpr std::size_t kPacketBytesOverTcp = 256 * 1024 + 512;
/// The longest message that is injected. A longer one is not worth the space on the stack.
inline constexpr std::size_t kLongestInjected = 1024;

}  // namespace rollcall::transport::ofi
