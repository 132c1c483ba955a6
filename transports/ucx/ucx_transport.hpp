/// \file
/// The transport over UCX: ucp active messages, with large payloads fetched by the receiver, and puts into memory that UCX
/// allocated. Nothing of UCX shows here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transports/transport.hpp"

namespace rollcall::transport {

struct UcxOptions {
    int rank = 0;
    int size = 1;
    /// Comma list of network devices to use ("lo", "eth0,mlx5_0:1"); empty: leave the choice to UCX and UCX_NET_DEVICES.
    std::string net_devices;
    std::uint64_t board_bytes = 4096;
};

/// Throws Error{transport} with UCX's reason.
std::unique_ptr<Transport> make_ucx_transport(const UcxOptions& options);

}  // namespace rollcall::transport
