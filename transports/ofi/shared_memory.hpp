/// \file
/// The shared memory that libfabric needs when it starts.
#pragma once

#include <cstdint>
#include <string_view>

#include "transports/options.hpp"
#include "transports/shared_memory_place.hpp"

namespace rollcall::transport::ofi {

/// Returns the bytes that `ranks` ranks of a host with so many processors need in order to be sure of shared memory.
std::uint64_t shared_memory_need(std::uint64_t ranks, std::uint64_t processors);

/// Throws Error{transport} if this process may not make a file of this length, in bytes: the kernel would end it (SIGXFSZ). `purpose` says
/// what the file is for.
void check_length_of_file(std::uint64_t length, std::string_view purpose);

/// Throws Error{transport} if libfabric would give shared memory to some ranks of this host only, which could then not reach the others,
/// if the place is smaller than what they need, or if this process may not make the file. What other programs use of it is not counted:
/// ranks start at different times, so what is free does not say how much of it the ranks of this job have taken already. A rank gets SIGBUS
/// if others fill the place later.
///
/// The message names the place, its size, and what the ranks need. If the place is too small for all ranks, only the first rank of the host
/// says so much.
///
/// If the place is so small that libfabric gives shared memory to no rank, throws only if `must_have_it`: otherwise all ranks use the
/// network.
void check_shared_memory(const TransportOptions& options, bool must_have_it);

/// The same check for this place, on a host with so many processors.
void check_shared_memory(const TransportOptions& options, bool must_have_it, const SharedMemoryPlace& place, std::uint64_t processors);

}  // namespace rollcall::transport::ofi
