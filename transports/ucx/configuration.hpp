/// \file
/// What UCX may use. What the user says in UCX's own variables stands.
#pragma once

#include <cstdint>
#include <string>

#include <ucp/api/ucp.h>

#include "transports/options.hpp"

namespace rollcall::transport::ucx {

/// Starts UCX. Throws Error{transport}.
ucp_context_h make_context(const TransportOptions& options);

/// Receive buffers that each rank has in shared memory to begin with: UCX puts one at each of the 64 places of its queue, and holds some.
inline constexpr std::uint64_t kReceiveBuffers = 72;

/// Whether UCX_TLS leaves shared memory in.
bool uses_shared_memory();

/// What UCX may use, for people.
std::string describe(const TransportOptions& options);

}  // namespace rollcall::transport::ucx
