/// \file
/// What is left of transports whose jobs did not end in good order.
#pragma once

#include <memory>
#include <vector>

#include <ucp/api/ucp.h>

#include "transports/ucx/address.hpp"
#include "transports/ucx/board.hpp"
#include "transports/ucx/closing.hpp"
#include "transports/ucx/requests.hpp"

namespace rollcall::transport::ucx {

/// The objects of UCX of a transport whose job did not end in good order, and the memory that they use.
struct Remains {
    struct Peer {
        Whereabouts place;
        ucp_ep_h endpoint;  ///< Null: there is none, or it is closed.
        PeerBoard board;
        bool was_connected;  ///< There was an endpoint, for as long as the process lived.
    };
    Whereabouts here;
    int rank;
    bool is_plain;  ///< Networks::are_plain
    Requests requests;
    std::vector<Peer> peers;
    Board board;
    Closing closing;
    std::unique_ptr<void*> user;  ///< What UCX gives to the handler of errors: the transport, which leave() replaces by null.
    ucp_worker_h worker;
    ucp_context_h context;
};

/// Keeps the objects, and tells the peers that this process uses their memory no more. UCX must make no progress with them. Any thread may
/// call it.
void leave(Remains&& remains);

/// Destroys what leave() has kept, as far as no other process can use it any more and UCX surely does not end this process for it. The rest
/// stays, in most cases until the process ends. Any thread may call it.
void clear_remains() noexcept;

}  // namespace rollcall::transport::ucx
