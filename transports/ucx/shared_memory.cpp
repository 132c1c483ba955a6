#include "transports/ucx/shared_memory.hpp"

#include <cstdlib>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "transports/ucx/configuration.hpp"

namespace rollcall::transport::ucx {
namespace {

constexpr std::uint64_t kReceiveBuffer = 8448;   ///< Size of one of UCX's receive buffers, with its own data.
constexpr const char* kInstead = "UCX_TLS=tcp";  ///< The setting that does without shared memory.
constexpr std::uint64_t kQueue = 64ull << 10;    ///< UCX's queue of a process, with the rounding of allocations.

std::string in_words(std::uint64_t each) { return fmt::format("{:.2f} MiB each", in_mebibytes(each)); }

std::optional<SharedMemoryPlace> place_of_ucx() {
    if (!uses_shared_memory()) return std::nullopt;
    const char* const place = std::getenv("UCX_POSIX_DIR");
    return place_at(place && *place ? place : "/dev/shm");
}

}  // namespace

std::uint64_t shared_memory_need(const TransportOptions& options) {
    return kReceiveBuffers * kReceiveBuffer + kQueue + options.board_bytes;
}

void check_shared_memory(const TransportOptions& options) {
    if (const auto found = place_of_ucx()) check_shared_memory(options, *found);
}

void check_shared_memory(const TransportOptions& options, const SharedMemoryPlace& place) {
    const std::uint64_t each = shared_memory_need(options);
    const std::uint64_t need = each * static_cast<std::uint64_t>(options.local_size);
    if (place.size >= need && place.available >= each) return;
    refuse_too_small(place, options, need, in_words(each), kInstead);
}

void add_shortage(const TransportOptions& options, const Error& failure) {
    if (const auto found = place_of_ucx()) add_shortage(options, failure, *found);
}

void add_shortage(const TransportOptions& options, const Error& failure, const SharedMemoryPlace& place) {
    const std::uint64_t each = shared_memory_need(options);
    const std::uint64_t need = each * static_cast<std::uint64_t>(options.local_size);
    if (place.available >= need) return;
    if (place.available < each)
        throw Error(failure.code(), fmt::format("{}. {}", shortage_of(place, options, need, in_words(each), kInstead), failure.what()));
    // What is missing may be what other ranks of this job have taken. But a rank that failed may also have given back what it had.
    throw Error(
        failure.code(),
        fmt::format("{}. The reason may be that {} was too full: {:.1f} MiB are free there now, and the {} ranks on this host need {:.1f} "
                    "MiB together ({})",
                    failure.what(), place.path, in_mebibytes(place.available), options.local_size, in_mebibytes(need), in_words(each)));
}

}  // namespace rollcall::transport::ucx
