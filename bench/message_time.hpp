/// \file
/// T, the unit of the patterns: the time of one message.
#pragma once

#include <cstdint>

#include <rollcall/communicator.hpp>

namespace rollcall::bench {

/// Half a round trip of so many bytes between the root and another rank while nobody else has to do; 0 where there is one rank. The same
/// on all ranks. Collective.
Nanoseconds message_time(const Communicator& world, int root, std::uint64_t bytes);

}  // namespace rollcall::bench
