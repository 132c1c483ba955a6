/// \file
/// The address of a process: its parts.
#pragma once

#include <cstdint>

namespace rollcall::transport::ucx {

/// Of an address and of what is sent to it. It grows when the parts change, or the messages.
inline constexpr std::uint32_t kVersion = 2;

/// The parts, by number.
inline constexpr int kWorkerPart = 0;
inline constexpr int kBoardKeyPart = 1;
inline constexpr int kBoardAddressPart = 2;
inline constexpr int kWhereaboutsPart = 3;

/// Which process this is, and whose process numbers it has.
struct Whereabouts {
    char boot[36] = {};
    std::uint64_t process_namespace = 0;
    std::int64_t process = 0;
};
Whereabouts whereabouts();

/// Whether a process of this host has no memory any more.
bool is_gone(const Whereabouts& here, const Whereabouts& there);

}  // namespace rollcall::transport::ucx
