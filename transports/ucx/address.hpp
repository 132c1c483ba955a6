/// \file
/// The address of a process and its parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ucp/api/ucp.h>

namespace rollcall::transport::ucx {

/// The version of the address and of the messages. Must be increased when the parts of the address or the messages change.
inline constexpr std::uint32_t kVersion = 7;

/// The numbers of the parts.
inline constexpr int kWorkerPart = 0;
inline constexpr int kBoardKeyPart = 1;
inline constexpr int kBoardAddressPart = 2;
inline constexpr int kWhereaboutsPart = 3;
inline constexpr int kNetworkPart = 4;

/// Appends the address of a worker: all of it, or without shared memory. Throws Error{transport}.
void append_worker(std::vector<std::byte>& address, ucp_worker_h worker, bool only_network = false);

/// Identifies a process: the boot of its kernel, its PID namespace, its number there, and its user namespace. It also says whether the
/// process uses shared memory.
struct Whereabouts {
    char boot[36] = {};
    std::uint32_t shares_memory = 0;  // 0 or 1
    std::uint64_t process_namespace = 0;
    std::int64_t process = 0;
    std::uint64_t user_namespace = 0;
};
static_assert(sizeof(Whereabouts) == 64, "it travels: without padding");
Whereabouts whereabouts(bool shares_memory);
/// Takes it out of an address. A damaged one is nowhere.
Whereabouts whereabouts_in(std::span<const std::byte> address);

/// Whether `there` is another process that can share memory with this one.
bool is_neighbour(const Whereabouts& here, const Whereabouts& there);

/// Whether UCX uses shared memory between the two processes, which may be one.
bool share_memory(const Whereabouts& here, const Whereabouts& there);

/// Returns the worker's address, out of the address of a peer. Without shared memory, if the kernel does not let one of the two processes
/// look into the other one because it is in another user namespace. UCX itself does not see that. Empty: a damaged address.
std::span<const std::byte> worker_address_in(std::span<const std::byte> address, const Whereabouts& here);

/// Whether `there` is a process of this host that no longer has any memory.
bool is_gone(const Whereabouts& here, const Whereabouts& there);

}  // namespace rollcall::transport::ucx
