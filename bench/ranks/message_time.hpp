/// \file
/// T, the unit of the patterns: the time that one message takes.
#pragma once

#include <cstdint>

#include <rollcall/communicator.hpp>

namespace rollcall::bench {

/// Measures half a round trip of `bytes` bytes between the root and another rank, while no other rank is active. Returns 0 if there is only
/// one rank. Returns the same on all ranks. Collective.
Nanoseconds message_time(const Communicator& world, int root, std::uint64_t bytes);

}  // namespace rollcall::bench
