/// \file
/// Which networks UCX has opened for a job.
#pragma once

#include <string_view>

#include <ucp/api/ucp.h>

namespace rollcall::transport::ucx {

/// Whether UCX has opened a network that reads and writes memory by itself (RDMA). That this host has such a device does not say so: the
/// process may not be allowed to open it, UCX may not know it, and UCX_TLS, UCX_NET_DEVICES and ROLLCALL_NET may exclude it.
bool has_rdma(ucp_context_h context);

/// The same, from what ucp_context_print_info() says. Pure function.
bool names_rdma(std::string_view resources);

}  // namespace rollcall::transport::ucx
