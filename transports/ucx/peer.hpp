/// \file
/// What the transport keeps for each peer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include <ucp/api/ucp.h>

#include "transports/ucx/address.hpp"
#include "transports/ucx/board.hpp"

namespace rollcall::transport::ucx {

struct Peer {
    void set(std::span<const std::byte> its_address) {
        address = its_address;
        place = whereabouts_in(address);
    }

    std::span<const std::byte> address;
    Whereabouts place;  ///< As the address says. It outlives the address.
    ucp_ep_h endpoint = nullptr;
    PeerBoard board;
    bool gone = false;
    bool was_connected = false;  ///< There was an endpoint, for as long as the process lived.
    bool is_known = false;       ///< It has said hello, so that it has an end of the connection.
};

/// Whether there is a connection to another process with which this one shares memory. `rank`: that of this process.
inline bool any_neighbour(std::span<const Peer> peers, int rank, const Whereabouts& here) {
    const Peer& own = peers[static_cast<std::size_t>(rank)];
    return std::ranges::any_of(peers, [&](const Peer& peer) { return &peer != &own && peer.endpoint && share_memory(here, peer.place); });
}

/// The connection to a peer has failed.
struct Failure {
    int rank;
    std::string why;
};

}  // namespace rollcall::transport::ucx
