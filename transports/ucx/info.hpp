/// \file
/// What UCX finds on this host.
#pragma once

#include "transports/catalogue.hpp"

namespace rollcall::transport {

/// Returns the row of UCX in transport_catalogue().
TransportInfo ucx_info();

}  // namespace rollcall::transport
