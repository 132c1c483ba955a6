/// \file
/// The ports at which a rank waits for others if neither the starter nor the user has named a port.
#pragma once

#include <cstdint>

namespace rollcall::bootstrap {

/// They are below the ports that Linux gives to connections by itself.
inline constexpr std::uint32_t kFirstPort = 24'000;
inline constexpr std::uint32_t kPortRange = 4096;

}  // namespace rollcall::bootstrap
