/// \file
/// How long a schedule of an allreduce will take, so that schedules can be compared.
#pragma once

#include <span>

#include "collectives/schedules/chunk_messages.hpp"

namespace rollcall::collectives {

/// When the last rank is done, if the ranks arrive at these times and each message takes `message_time`. The ranks carry out their steps as
/// combining/carry_out.hpp says. A port sends one message at a time and receives one at a time, in the order in which they are begun.
/// Of messages that are begun at the same time, the one of the lowest rank or the one of the highest rank comes first: the later end
/// counts. Integers are compared, so all ranks get the same result. Takes O(M log M) time for M messages.
///
/// Example: 3 ranks, `message_time` 2, in rounds 0 to 3 the messages 1 -> 0, 2 -> 0, 0 -> 1 and 0 -> 2. If all arrive at 0, rank 0 has the
/// two messages at 2 and 4, its own two have come at 6 and 8, and 8 is the end. If rank 2 arrives at 10, the end is 16.
Nanoseconds predicted_end(std::span<const ChunkMessage> messages, std::span<const Nanoseconds> arrivals, Nanoseconds message_time);

}  // namespace rollcall::collectives
