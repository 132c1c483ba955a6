/// \file
/// Where a rank waits for others when nobody has said on which port.
#pragma once

#include <cstdint>

namespace rollcall::bootstrap {

/// Below the ports that Linux gives to connections by itself.
inline constexpr std::uint32_t kFirstPort = 24'000;
inline constexpr std::uint32_t kPortRange = 4096;

}  // namespace rollcall::bootstrap
