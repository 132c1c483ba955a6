#include "transports/ofi/shared_memory.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "foundation/kernel.hpp"

namespace rollcall::transport::ofi {
namespace {

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
    throw Error(ErrorCode::transport, fmt::format("{} is a file of {:.1f} MiB, and this process may write files of up to {:.1f} MiB; raise "
                                                  "the limit of file sizes (ulimit -f unlimited)",
                                                  purpose, in_mebibytes(length), in_mebibytes(limit)));
}

void check_shared_memory(const TransportOptions& options, bool must_have_it) {
    check_length_of_file(kBytesOfFile, "libfabric's shared memory of this rank");
    const auto processors = static_cast<std::uint64_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
    if (const auto found = place_at(kPlace)) check_shared_memory(options, must_have_it, *found, processors);
}

void check_shared_memory(const TransportOptions& options, bool must_have_it, const SharedMemoryPlace& place, std::uint64_t processors) {
    const auto ranks = static_cast<std::uint64_t>(options.local_size);
    const std::uint64_t need = shared_memory_need(ranks, processors), least = least_room(processors);
    if (place.size == 0 || (place.size >= need && place.available >= least)) return;
    // A rank without others on its host exchanges nothing through shared memory. And where no rank is offered any, all agree.
    if (!must_have_it && (ranks == 1 || place.size < least)) return;
    refuse_too_small(place, options, need,
                     fmt::format("libfabric wants {:.1f} MiB to be free when a rank starts, and a rank takes up to {:.1f} MiB",
                                 in_mebibytes(least), in_mebibytes(kWritten)),
                     "ROLLCALL_OFI_PROVIDER=tcp");
}

}  // namespace rollcall::transport::ofi
