/// \file
/// Arrivals boards: the memory of this process that peers write, and the way to that of a peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ucp/api/ucp.h>

#include "transports/ucx/address.hpp"

namespace rollcall::transport::ucx {

/// Of this process. Memory that UCX allocates: only then is a put over shared memory a plain store, seen without the target's help.
class Board {
  public:
    /// Throws Error{transport}.
    void open(ucp_context_h context, std::uint64_t size);
    void close() noexcept;

    std::span<std::byte> bytes() const noexcept { return bytes_; }
    /// Appends what peers need to write it. Throws Error{transport}.
    void append_to(std::vector<std::byte>& address) const;
    /// A put that came as a message: its place on the board, then its words. What is not one of ours is let go.
    void write(const void* message, std::size_t length) noexcept;

  private:
    ucp_context_h context_ = nullptr;
    ucp_mem_h memory_ = nullptr;
    std::span<std::byte> bytes_;
};

/// Of a peer.
struct PeerBoard {
    ucp_rkey_h key = nullptr;
    std::uint64_t address = 0;
    std::byte* direct = nullptr;  ///< Null: it cannot be written through a pointer.
    bool unusable = false;

    enum class Unpacked : std::uint8_t { usable, unusable, peer_is_gone };
    /// Finds the way to it, once. Of a process that is gone it is not tried: UCX 1.13 crashes where it unpacks the key of one.
    Unpacked unpack(ucp_ep_h endpoint, std::span<const std::byte> peer_address, const Whereabouts& here);
};

}  // namespace rollcall::transport::ucx
