#include "transports/ofi/shared_memory.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "foundation/kernel.hpp"

namespace rollcall::transport::ofi {
namespace {

constexpr double kMebibyte = 1 << 20;
// libfabric makes a file of this size for each process. Most of it is never written.
constexpr std::uint64_t kBytesOfFile = 16ull << 20;
// With libfabric 1.17, a process writes 7 MiB of its file when it starts, and hardly more later. The rest is a reserve.
constexpr std::uint64_t kWritten = 8ull << 20;
// libfabric's shm makes all its files here.
constexpr const char* kPlace = "/dev/shm";

// When a process starts, libfabric offers it shared memory only if there is room for a file for each processor.
std::uint64_t least_room(std::uint64_t processors) { return processors * kBytesOfFile; }

}  // namespace

std::uint64_t shared_memory_need(std::uint64_t ranks, std::uint64_t processors) {
    return (ranks - 1) * kWritten + std::max(kWritten, least_room(processors));
}

void check_length_of_file(std::uint64_t length, std::string_view purpose) {
    const std::uint64_t limit = longest_file();
    if (length <= limit) return;
    throw Error(ErrorCode::transport,
                fmt::format("{} is a file of {:.1f} MiB, and this process may write files of up to {:.1f} MiB; raise "
                            "the limit of file sizes (ulimit -f unlimited)",
                            purpose, static_cast<double>(length) / kMebibyte, static_cast<double>(limit) / kMebibyte));
}

void check_shared_memory(const TransportOptions& options, bool must_have_it) {
    check_length_of_file(kBytesOfFile, "libfabric's shared memory of this rank");
    struct statvfs status {};
    if (::statvfs(kPlace, &status) != 0) return;
    const long processors = ::sysconf(_SC_NPROCESSORS_ONLN);
    check_shared_memory(options, must_have_it,
                        {.path = kPlace,
                         .size = status.f_blocks * status.f_frsize,
                         .available = status.f_bavail * status.f_frsize,
                         .processors = static_cast<std::uint64_t>(std::max(processors, 1L))});
}

void check_shared_memory(const TransportOptions& options, bool must_have_it, const SharedMemoryPlace& place) {
    const auto ranks = static_cast<std::uint64_t>(options.local_size);
    const std::uint64_t need = shared_memory_need(ranks, place.processors), least = least_room(place.processors);
    if (place.size == 0 || (place.size >= need && place.available >= least)) return;
    // A rank without others on its host exchanges nothing through shared memory. And where no rank is offered any, all agree.
    if (!must_have_it && (ranks == 1 || place.size < least)) return;
    // All ranks of the host see the same size. One of them says what follows from it.
    if (place.size < need && options.local_rank > 0)
        throw Error(ErrorCode::transport,
                    fmt::format("{} is too small for the {} ranks on this host, as the first one of them says", place.path, ranks));
    throw Error(
        ErrorCode::transport,
        fmt::format(
            "{} is too small: the {} ranks on this host need {:.1f} MiB of shared memory there (libfabric wants {:.1f} MiB to be free "
            "when a rank starts, and a rank takes up to {:.1f} MiB), and it has {:.1f} MiB, of which {:.1f} MiB are free; make it "
            "larger (docker run --shm-size=1g; mount -o remount,size=1g {}), start fewer ranks on this host, or set "
            "ROLLCALL_OFI_PROVIDER=tcp, which needs none",
            place.path, ranks, static_cast<double>(need) / kMebibyte, static_cast<double>(least) / kMebibyte,
            static_cast<double>(kWritten) / kMebibyte, static_cast<double>(place.size) / kMebibyte,
            static_cast<double>(place.available) / kMebibyte, place.path));
}

}  // namespace rollcall::transport::ofi
