// Allreduce with a straggler. Devraj et al., "Accelerating AllReduce with a Persistent Straggler" (StragglAR), 2025, arXiv:2505.23523; the
// schedules are our own.
//
// Idea: all ranks but the one that is expected last (the straggler) reduce one chunk each before it arrives. Then the straggler exchanges
// with each of them that rank's chunk, which is complete after that, and meanwhile the complete chunks spread among the others. This takes
// P - 2 + log2 P steps of 1 / (P - 1) of the elements after the straggler's arrival, where a ring needs 2 (P - 1) steps of 1 / P.
//
// Example: P = 4, straggler 3. It is shown message by message in collectives/schedules/straggler.cpp.
#include "collectives/schedules/straggler.hpp"
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/allreduce/foreseen.hpp"

namespace rollcall::collectives {
namespace {

/// Every rank computes the schedule, in time that grows with the third power of the number of ranks. For so many ranks it takes a
/// millisecond.
constexpr int kMostRanks = 64;

ForeseenPart straggler_part(const Operation& op, std::span<const Nanoseconds> arrivals) {
    const StragglerSchedule schedule = straggler_allreduce(op.size(), order_of_arrival(arrivals).back());
    ForeseenPart part;
    for (int number = 0; number < schedule.chunks; ++number) part.segments.push_back(share_of(op, number, schedule.chunks));
    std::vector<ChunkMessage> messages = schedule.early;
    for (ChunkMessage message : schedule.late) {
        message.round += schedule.early_rounds;
        messages.push_back(message);
    }
    part.steps = steps_of(messages, op.rank());
    return part;
}

}  // namespace

Task allreduce_straggler(Operation& op) {
    if (op.size() <= kMostRanks) {
        co_await allreduce_foreseen(op, &straggler_part);
    } else {
        co_await op.arrival();
        co_await allreduce_ring(op);
    }
}

}  // namespace rollcall::collectives
