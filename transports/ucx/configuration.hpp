/// \file
/// What UCX may use. Values that the user sets in UCX's own variables are not changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ucp/api/ucp.h>

#include "transports/options.hpp"
#include "transports/variable.hpp"

namespace rollcall::transport::ucx {

/// Settings that not all versions of UCX take from ucp_config_modify() (1.16 and 1.18 warn of them). While the context and the worker are
/// made, they are in the environment:
/// - UCX 1.14 and later use no shared memory where less than 16 MiB of it is free. A rank needs a twentieth of that, and Rollcall checks
/// that
///   it is there (shared_memory.hpp).
/// - By default UCX sends pieces of 8 KiB over TCP. Each one costs a system call, so that a large message over the loopback takes four to
///   five times as long. A connection has buffers only while it transfers something.
class Environment {
  public:
    Environment();

  private:
    std::optional<Variable> least_shared_memory_, sent_over_tcp_, received_over_tcp_;
};

/// Starts UCX. Throws Error{transport}.
ucp_context_h make_context(const TransportOptions& options);

/// The places of the queue that each rank has in shared memory, and the number of its receive buffers at the beginning: UCX puts one at
/// each place, and keeps some more.
inline constexpr std::uint64_t kPlacesOfQueue = 64, kReceiveBuffers = 72;

/// Whether UCX_TLS allows shared memory.
bool uses_shared_memory();

/// Describes for users what UCX may use.
std::string describe(const TransportOptions& options);

}  // namespace rollcall::transport::ucx
