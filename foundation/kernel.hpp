/// \file
/// The kernel and the namespaces in which this process runs, and a limit that they set.
#pragma once

#include <cstdint>
#include <string>

namespace rollcall::inline foundation {

/// Returns a text of 36 characters, which the kernel makes anew at each boot. Empty if the system does not provide it.
std::string boot_identity();

/// Returns the number of this process's namespace of a kind. `kind` is a name in /proc/self/ns ("pid", "user", "time"). 0 if the system
/// does not provide it.
std::uint64_t namespace_number(const char* kind);

/// The numbers of the namespaces in which the kernel starts its first process.
inline constexpr std::uint64_t kFirstUserNamespace = 0xEFFFFFFD, kFirstProcessNamespace = 0xEFFFFFFC;

/// Identifies the boot of the kernel, the host name, the PID namespace, the user namespace and the effective user of this process.
/// Processes with the same number can find each other in /proc. Emulated hosts that share one kernel get different numbers, because data
/// between them must take the network that they emulate. 0 if the system does not provide the information.
std::uint64_t node_identity();

/// Returns the length in bytes up to which this process may extend files (RLIMIT_FSIZE). Without a limit it is the largest number. The
/// kernel ends a process that does not obey (SIGXFSZ), so ask before.
std::uint64_t longest_file() noexcept;

}  // namespace rollcall::inline foundation
