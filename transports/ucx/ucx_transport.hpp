/// \file
/// The transport over UCX. It uses ucp active messages, with large payloads fetched by the receiver, and puts into memory that UCX
/// allocated. This header does not expose UCX.
#pragma once

#include <memory>
#include <string>

#include "transports/options.hpp"
#include "transports/transport.hpp"

namespace rollcall::transport {

/// Throws Error{transport} with UCX's reason.
std::unique_ptr<Transport> make_ucx_transport(const TransportOptions& options);

/// Returns the interfaces in the format of UCX_NET_DEVICES, for example "eth0,mlx5_0:1". Empty: UCX chooses, or follows the UCX_NET_DEVICES
/// of the environment.
std::string ucx_devices(const TransportOptions& options);

}  // namespace rollcall::transport
