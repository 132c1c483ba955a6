#include "transports/ucx/shared_memory.hpp"

#include <cstdlib>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "transports/ucx/configuration.hpp"

namespace rollcall::transport::ucx {
namespace {

constexpr std::uint64_t kReceiveBuffer = 8448;  ///< Size of one of UCX's receive buffers, with its own data.
constexpr std::uint64_t kQueue = 64ull << 10;   ///< UCX's queue of a process, with the rounding of allocations.
constexpr double kMebibyte = 1 << 20;

struct Place {
    const char* path;
    struct statvfs status;
};

/// Returns the place of UCX's shared memory, or nothing if UCX uses none, or if the place has no limit.
std::optional<Place> find_place() {
    if (!uses_shared_memory()) return std::nullopt;
    const char* const given = std::getenv("UCX_POSIX_DIR");
    Place place{given && *given ? given : "/dev/shm", {}};
    // A size of 0 means that there is no limit.
    if (::statvfs(place.path, &place.status) != 0 || place.status.f_blocks == 0) return std::nullopt;
    return place;
}

}  // namespace

std::uint64_t shared_memory_need(const TransportOptions& options) {
    return kReceiveBuffers * kReceiveBuffer + kQueue + options.board_bytes;
}

void check_shared_memory(const TransportOptions& options) {
    if (const auto place = find_place())
        check_shared_memory(options, place->path, place->status.f_blocks * place->status.f_frsize,
                            place->status.f_bavail * place->status.f_frsize);
}

std::uint64_t free_shared_memory() {
    const auto place = find_place();
    return place ? place->status.f_bavail * place->status.f_frsize : std::numeric_limits<std::uint64_t>::max();
}

void check_shared_memory(const TransportOptions& options, const char* place, std::uint64_t size, std::uint64_t available) {
    const std::uint64_t each = shared_memory_need(options);
    const auto ranks = static_cast<std::uint64_t>(options.local_size);
    if (size >= each * ranks && available >= each) return;
    // All ranks of the host see the same size. One of them says what follows from it.
    if (size < each * ranks && options.local_rank > 0)
        throw Error(ErrorCode::transport,
                    fmt::format("{} is too small for the {} ranks on this host, as the first one of them says", place, ranks));
    throw Error(
        ErrorCode::transport,
        fmt::format("{} is too small: the {} ranks on this host need {:.1f} MiB of shared memory there ({:.2f} MiB each), and it has "
                    "{:.1f} MiB, of which {:.1f} MiB are free; make it larger (docker run --shm-size=1g; mount -o remount,size=1g {}), "
                    "start fewer ranks on this host, or set UCX_TLS=tcp, which needs none",
                    place, ranks, static_cast<double>(each * ranks) / kMebibyte, static_cast<double>(each) / kMebibyte,
                    static_cast<double>(size) / kMebibyte, static_cast<double>(available) / kMebibyte, place));
}

}  // namespace rollcall::transport::ucx
