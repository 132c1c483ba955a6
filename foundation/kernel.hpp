/// \file
/// Which kernel this process runs under, and in which of its namespaces.
#pragma once

#include <cstdint>
#include <string>

namespace rollcall::inline foundation {

/// A new one for each boot of a kernel, 36 characters. Empty: the system does not tell.
std::string boot_identity();

/// The number of this process's namespace of a kind, as in /proc/self/ns ("pid", "user", "time"). 0: the system does not tell.
std::uint64_t namespace_number(const char* kind);

/// Of which kernel, which host of it, which PID and user namespace, and which user this process is: processes with the same number can find
/// each other in /proc. Hosts that are only namespaces of one kernel are told apart, for what is between them is to go over the network
/// that they are there to show. 0: the system does not tell.
std::uint64_t node_identity();

}  // namespace rollcall::inline foundation
