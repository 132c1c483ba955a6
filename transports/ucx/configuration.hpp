/// \file
/// What UCX may use. Values that the user sets in UCX's own variables are not changed.
#pragma once

#include <cstdint>
#include <string>

#include <ucp/api/ucp.h>

#include "transports/options.hpp"

namespace rollcall::transport::ucx {

/// Starts UCX. Throws Error{transport}.
ucp_context_h make_context(const TransportOptions& options);

/// The places of the queue that each rank has in shared memory, and the number of its receive buffers at the beginning: UCX puts one at
/// each place, and keeps some more.
inline constexpr std::uint64_t kPlacesOfQueue = 64, kReceiveBuffers = 72;

/// Whether this is UCX 1.`minor` or later.
bool is_at_least(unsigned minor);

/// Whether UCX may use shared memory: UCX_TLS allows it, and other processes may look into this one. They open its memory through
/// /proc/PID/fd, and the kernel refuses that if this process is not dumpable. UCX notices it only when a connection fails.
bool uses_shared_memory();

/// Whether ranks of this host may be in other user namespaces, so that they need an address of this one without shared memory. All ranks of
/// a container may be in its user namespace, and share memory. So each pair of ranks decides for itself.
bool needs_network_address();

/// Describes for users what UCX may use.
std::string describe(const TransportOptions& options);

}  // namespace rollcall::transport::ucx
