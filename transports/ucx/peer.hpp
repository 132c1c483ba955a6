/// \file
/// What the transport keeps for each peer.
#pragma once

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

/// The connection to a peer has failed.
struct Failure {
    int rank;
    std::string why;
};

}  // namespace rollcall::transport::ucx
