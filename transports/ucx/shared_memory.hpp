/// \file
/// The shared memory that UCX needs when it starts.
#pragma once

#include <cstdint>

#include <rollcall/error.hpp>

#include "transports/options.hpp"
#include "transports/shared_memory_place.hpp"

namespace rollcall::transport::ucx {

/// Returns the bytes that one rank needs before its first message.
std::uint64_t shared_memory_need(const TransportOptions& options);

/// Throws Error{transport} if there is not enough shared memory for the ranks of this host. The message names the place, its size, and what
/// the ranks need. Where it is too small for all ranks, only the first rank of the host says so much. UCX itself says "no resources", or
/// says nothing and crashes later.
void check_shared_memory(const TransportOptions& options);

/// The same check for this place.
void check_shared_memory(const TransportOptions& options, const SharedMemoryPlace& place);

/// For a failure of UCX: if less memory is free than this rank needs, throws the failure again, with that in front. All ranks may find
/// enough for themselves before one of them takes it, so the check before does not find every shortage. If there is enough for this rank,
/// but not for all ranks of this host, adds to the failure that this may be its reason.
void add_shortage(const TransportOptions& options, const Error& failure);

/// The same for this place.
void add_shortage(const TransportOptions& options, const Error& failure, const SharedMemoryPlace& place);

}  // namespace rollcall::transport::ucx
