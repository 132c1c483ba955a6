#include "transports/shared_memory_place.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <rollcall/error.hpp>

namespace rollcall::transport {

std::optional<SharedMemoryPlace> place_at(const char* path) {
    struct statvfs status {};
    if (::statvfs(path, &status) != 0 || status.f_blocks == 0) return std::nullopt;
    return SharedMemoryPlace{path, status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize};
}

std::string shortage_of(const SharedMemoryPlace& place, const TransportOptions& options, std::uint64_t need, const std::string& each,
                        std::string_view setting) {
    const bool full = place.size >= need;
    return fmt::format(
        "{} is too {}: the {} ranks on this host need {:.1f} MiB of shared memory there ({}), and it has {:.1f} MiB, of which {:.1f} MiB "
        "are free; {}make it larger (docker run --shm-size=1g; mount -o remount,size=1g {}), start fewer ranks on this host, or set {}, "
        "which needs none",
        place.path, full ? "full" : "small", options.local_size, in_mebibytes(need), each, in_mebibytes(place.size),
        in_mebibytes(place.available),
        full ? fmt::format("delete what killed programs have left there (`ls -l {}` shows it), ", place.path) : "", place.path, setting);
}

void refuse_too_small(const SharedMemoryPlace& place, const TransportOptions& options, std::uint64_t need, const std::string& each,
                      std::string_view setting) {
    if (place.size < need && options.local_rank > 0)
        throw Error(ErrorCode::transport, fmt::format("{} is too small for the {} ranks on this host, as the first one of them says",
                                                      place.path, options.local_size));
    throw Error(ErrorCode::transport, shortage_of(place, options, need, each, setting));
}

}  // namespace rollcall::transport
