/// \file
/// An allreduce in which all ranks but the last one do most of the work before the last one arrives.
#pragma once

#include <vector>

#include "collectives/schedules/chunk_messages.hpp"

namespace rollcall::collectives {

struct StragglerSchedule {
    int chunks = 0;                   ///< P - 1, as equal as possible.
    std::vector<ChunkMessage> early;  ///< P - 2 rounds among the early ranks. Afterwards each has one chunk, reduced over all of them.
    std::vector<ChunkMessage> late;   ///< With the straggler. Afterwards all ranks have everything.
    int early_rounds = 0;
};

/// For at least 2 `processes`, of which `straggler` arrives last. The late part takes P - 2 + log2 P rounds for a power of two. For other
/// numbers it takes P - 2 + ceil(log2 P) rounds, or one more (all numbers from 2 to 300 were tried). A ring takes 2 (P - 1) rounds of about
/// the same length once the last rank has arrived. Throws Error{invalid_argument}. O(P^3) time.
StragglerSchedule straggler_allreduce(int processes, int straggler);

}  // namespace rollcall::collectives
