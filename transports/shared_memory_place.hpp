/// \file
/// Where network libraries keep their shared memory, and what to say if it is too small.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "transports/options.hpp"

namespace rollcall::transport {

/// A place for shared memory. Sizes are in bytes.
struct SharedMemoryPlace {
    const char* path;
    std::uint64_t size;       ///< 0: it has no limit.
    std::uint64_t available;  ///< How much of it is free.
};

/// Looks at a directory. Returns nothing if that is not possible, or if the directory has no limit.
std::optional<SharedMemoryPlace> place_at(const char* path);

/// Says what is missing where `each` rank of this host needs so much (in words), and all of them `need` bytes, and what to do: make the
/// place larger, or, if it is large enough, delete what others have left there.
std::string shortage_of(const SharedMemoryPlace& place, const TransportOptions& options, std::uint64_t need, const std::string& each,
                        std::string_view setting);

/// Throws Error{transport}, which names the place, its size, and the `need` of all ranks of this host, in bytes. All ranks of the host see
/// the same size: where the place is too small for all of them, only the first one says so much. `each`: what a rank needs, in words.
/// `setting`: one that does without shared memory.
[[noreturn]] void refuse_too_small(const SharedMemoryPlace& place, const TransportOptions& options, std::uint64_t need,
                                   const std::string& each, std::string_view setting);

/// Bytes in mebibytes, for such sentences.
inline double in_mebibytes(std::uint64_t bytes) noexcept { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace rollcall::transport
