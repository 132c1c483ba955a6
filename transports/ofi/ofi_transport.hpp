/// \file
/// The transport over libfabric. It uses the reliable datagrams of one provider within a node, and of one provider between nodes. This
/// header does not expose libfabric.
#pragma once

#include <memory>

#include "transports/options.hpp"
#include "transports/transport.hpp"

namespace rollcall::transport {

/// Throws Error{transport} with libfabric's reason.
std::unique_ptr<Transport> make_ofi_transport(const TransportOptions& options);

}  // namespace rollcall::transport
