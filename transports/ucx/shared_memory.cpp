#include "transports/ucx/shared_memory.hpp"

#include <cstdlib>

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

}  // namespace

std::uint64_t shared_memory_need(const TransportOptions& options) {
    return kReceiveBuffers * kReceiveBuffer + kQueue + options.board_bytes;
}

void check_shared_memory(const TransportOptions& options) {
    if (!uses_shared_memory()) return;
    const char* const place = std::getenv("UCX_POSIX_DIR");
    const char* const directory = place && *place ? place : "/dev/shm";
    struct statvfs status {};
    // A size of 0 means that there is no limit.
    if (::statvfs(directory, &status) != 0 || status.f_blocks == 0) return;
    check_shared_memory(options, directory, status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize);
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
