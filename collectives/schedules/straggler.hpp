/// \file
/// An allreduce whose ranks but one do most of the work before the last one comes.
#pragma once

#include <vector>

#include "collectives/schedules/chunk_messages.hpp"

namespace rollcall::collectives {

struct StragglerSchedule {
    int chunks = 0;                   ///< P - 1, as equal as possible.
    std::vector<ChunkMessage> early;  ///< P - 2 rounds among those who are there: afterwards each has one chunk, reduced over all of them.
    std::vector<ChunkMessage> late;   ///< With the straggler: afterwards all have everything.
    int early_rounds = 0, late_rounds = 0;
};

/// For `processes` from 2, of which `straggler` comes last. The late part takes P - 2 + log2 P rounds for a power of two; for other numbers
/// P - 2 + ceil(log2 P), or one more (all of 2 to 300 were tried). A ring takes 2 (P - 1) rounds of about the same length once the last
/// one has come. Throws Error{invalid_argument}. O(P^3) time.
StragglerSchedule straggler_allreduce(int processes, int straggler);

}  // namespace rollcall::collectives
