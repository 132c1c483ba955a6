/// \file
/// The transport over libfabric: reliable datagrams of one provider within a node and of one between nodes. Nothing of libfabric shows
/// here.
#pragma once

#include <memory>

#include "transports/options.hpp"
#include "transports/transport.hpp"

namespace rollcall::transport {

/// Throws Error{transport} with libfabric's reason.
std::unique_ptr<Transport> make_ofi_transport(const TransportOptions& options);

}  // namespace rollcall::transport
