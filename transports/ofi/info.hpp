/// \file
/// What libfabric finds on this host.
#pragma once

#include "transports/catalogue.hpp"

namespace rollcall::transport {

/// Returns the row of libfabric in transport_catalogue().
TransportInfo ofi_info(const Jobs& jobs);

}  // namespace rollcall::transport
