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
inline constexpr std::uint32_t kVersion = 4;

/// The numbers of the parts.
inline constexpr int kWorkerPart = 0;
inline constexpr int kBoardKeyPart = 1;
inline constexpr int kBoardAddressPart = 2;
inline constexpr int kWhereaboutsPart = 3;

/// Appends the address of a worker. Throws Error{transport}.
void append_worker(std::vector<std::byte>& address, ucp_worker_h worker);

/// Identifies a process: the boot of its kernel, its PID namespace, and its number there.
struct Whereabouts {
    char boot[36] = {};
    std::uint32_t unused = 0;
    std::uint64_t process_namespace = 0;
    std::int64_t process = 0;
};
static_assert(sizeof(Whereabouts) == 56, "it travels: without padding");
Whereabouts whereabouts();
/// Takes it out of an address. A damaged one is nowhere.
Whereabouts whereabouts_in(std::span<const std::byte> address);

/// Whether `there` is another process that can share memory with this one.
bool is_neighbour(const Whereabouts& here, const Whereabouts& there);

/// Whether `there` is a process of this host that no longer has any memory.
bool is_gone(const Whereabouts& here, const Whereabouts& there);

}  // namespace rollcall::transport::ucx
