#include "transports/ucx/shared_memory.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "transports/ucx/configuration.hpp"

namespace rollcall::transport::ucx {
namespace {

constexpr std::uint64_t kReceiveBuffer = 8448;  ///< Size of one of UCX's receive buffers, with its own data.
constexpr std::uint64_t kQueue = 64ull << 10;   ///< UCX's queue of a process, with the rounding of allocations.

}  // namespace

std::uint64_t shared_memory_need(const TransportOptions& options) {
    return kReceiveBuffers * kReceiveBuffer + kQueue + options.board_bytes;
}

void check_shared_memory(const TransportOptions& options) {
    if (!uses_shared_memory()) return;
    const char* const place = std::getenv("UCX_POSIX_DIR");
    const char* const directory = place && *place ? place : "/dev/shm";
    if (const auto found = place_at(directory)) check_shared_memory(options, *found);
}

void check_shared_memory(const TransportOptions& options, const SharedMemoryPlace& place) {
    const std::uint64_t each = shared_memory_need(options);
    const std::uint64_t need = each * static_cast<std::uint64_t>(options.local_size);
    if (place.size >= need && place.available >= each) return;
    refuse_too_small(place, options, need, fmt::format("{:.2f} MiB each", in_mebibytes(each)), "UCX_TLS=tcp");
}

}  // namespace rollcall::transport::ucx
