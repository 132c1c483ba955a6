/// \file
/// Arrivals boards: the memory of this process that peers write, and the access to the board of a peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ucp/api/ucp.h>

#include "transports/ucx/address.hpp"

namespace rollcall::transport::ucx {

/// The board of this process. UCX allocates the memory, because only then a put over shared memory is a plain store, which the target sees
/// without doing anything.
class Board {
  public:
    /// Throws Error{transport}.
    void open(ucp_context_h context, std::uint64_t size);
    /// Tells peers that this process uses their memory no more (PeerBoard::is_left).
    void leave() noexcept;
    /// Gives the memory back. It does leave() first.
    void close() noexcept;

    std::span<std::byte> bytes() const noexcept { return bytes_; }
    /// Appends to the address what peers need in order to write the board. Throws Error{transport}.
    void append_to(std::vector<std::byte>& address) const;
    /// Writes a put that came as a message: its offset on the board, followed by its words. A malformed message is ignored.
    void write(const void* message, std::size_t length) noexcept;

  private:
    ucp_context_h context_ = nullptr;
    ucp_mem_h memory_ = nullptr;
    std::span<std::byte> bytes_;
};

/// The board of a peer.
struct PeerBoard {
    ucp_rkey_h key = nullptr;
    std::uint64_t address = 0;
    std::byte* direct = nullptr;  ///< Null: the board cannot be written through a pointer.
    bool unusable = false;

    enum class Unpacked : std::uint8_t { usable, unusable, peer_is_gone };
    /// Finds the access to the board, once. UCX before 1.19 crashes where it fails. So it does not try it if the process is gone, or if
    /// nothing can be opened here. The board has about this length.
    Unpacked unpack(ucp_ep_h endpoint, std::span<const std::byte> peer_address, const Whereabouts& here, std::uint64_t length);
    /// Gives the access back. UCX wants this after the end of all transfers that use it.
    void destroy() noexcept {
        if (key) ucp_rkey_destroy(std::exchange(key, nullptr));
        direct = nullptr;
    }
    /// Whether the peer uses no memory of other processes any more. Says so only if the board is reached through a pointer.
    bool is_left() const noexcept;
};

}  // namespace rollcall::transport::ucx
