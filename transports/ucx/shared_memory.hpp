/// \file
/// The shared memory that UCX takes when it starts.
#pragma once

#include <cstdint>

#include "transports/options.hpp"

namespace rollcall::transport::ucx {

/// What one rank takes before its first message, in bytes.
std::uint64_t shared_memory_need(const TransportOptions& options);

/// Throws Error{transport} where the ranks of this host do not find enough, with the place, its size, and what they need. UCX itself
/// says "no resources", or does not say anything and crashes later.
void check_shared_memory(const TransportOptions& options);

/// The same for a place of this size, of which so much is free.
void check_shared_memory(const TransportOptions& options, const char* place, std::uint64_t size, std::uint64_t available);

}  // namespace rollcall::transport::ucx
