/// \file
/// T, the unit of the patterns: the time that one message takes.
#pragma once

#include <cstdint>
#include <span>

#include <rollcall/communicator.hpp>

namespace rollcall::bench {

/// The rank with which the root measures T: the next one behind it, in a circle, that is on another host, or the next one at all if there
/// is no other host. Between two groups (`in_first` > 0 ranks are in the first one) it is a rank of the other group. `hosts` has a number
/// for each rank, which the ranks of a host have in common. Requires at least two ranks.
int message_partner(int root, std::span<const int> hosts, int in_first);
/// The same for the ranks of this communicator, or -1 if there is only one. Collective.
int message_partner(const Communicator& world, int root, int in_first);

/// Measures half a round trip of `bytes` bytes between the root and its partner, while no other rank is active. Returns 0 if the partner is
/// -1. Returns the same on all ranks. Collective.
Nanoseconds message_time(const Communicator& world, int root, int partner, std::uint64_t bytes);

}  // namespace rollcall::bench
