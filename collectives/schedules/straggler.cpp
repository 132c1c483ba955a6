// Devraj et al.: Accelerating AllReduce with a Persistent Straggler (StragglAR, 2025). Their schedules are for even numbers of ranks. This
// construction is our own and takes any number.
//
// Each early rank reduces one chunk. Then the straggler exchanges with each early rank that rank's chunk, one chunk in each round; after
// that the chunk is complete at both. Meanwhile the complete chunks spread among the other ranks (spreading.hpp), and the number of ranks
// that have a chunk doubles in every round. Of the ranks that are needed equally, those that have not met the straggler yet are kept for
// older chunks, so that they are soon free to meet it.
//
// Example: P = 4, straggler 3. Early round 0: 0 -1-> 1, 1 -2-> 2, 2 -0-> 0. Early round 1: 0 -2-> 2, 1 -0-> 0, 2 -1-> 1. Late round 0: 0
// <-0-> 3. Late round 1: 1 <-1-> 3, 0 -0-> 2. Late round 2: 2 <-2-> 3, 1 -1-> 0, 0 -0-> 1. Late round 3: 2 -2-> 0, 3 -2-> 1, 0 -1-> 2. The
// late part has 4 - 2 + 2 rounds.
#include "collectives/schedules/straggler.hpp"

#include <fmt/format.h>

#include <rollcall/error.hpp>

#include "collectives/schedules/spreading.hpp"

namespace rollcall::collectives {
namespace {

/// Here the ranks are numbered so that the straggler is the last one. Chunk c is first at rank c.
std::vector<ChunkMessage> late_part(int P) {
    const int straggler = P - 1;
    std::vector<ChunkMessage> messages;
    Spreading spreading(P, P - 1);
    std::vector<bool> has_met(static_cast<std::size_t>(P), false);
    has_met.back() = true;
    for (int round = 0; round < P - 1 || !spreading.done(); ++round) {
        if (round < P - 1) {
            const int p = spreading.neediest(has_met);
            has_met[static_cast<std::size_t>(p)] = true;
            spreading.prefer(p);
            messages.push_back({round, p, straggler, p, true});
            messages.push_back({round, straggler, p, p, true});
            for (const int one : {p, straggler}) {
                spreading.sends(one);
                spreading.receives(one);
                spreading.completes(p, one);
            }
        }
        for (const auto& [sender, receiver, chunk] : spreading.end_round()) messages.push_back({round, sender, receiver, chunk, false});
    }
    return messages;
}

}  // namespace

StragglerSchedule straggler_allreduce(int processes, int straggler) {
    const int P = processes;
    if (P < 2 || straggler < 0 || straggler >= P)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("an allreduce of {} processes with the straggler {}; allowed: 2 processes at least, and one of them", P,
                                straggler));
    StragglerSchedule schedule{.chunks = P - 1, .early = {}, .late = {}};
    for (int distance = 1; distance < P - 1; ++distance)
        for (int p = 0; p < P - 1; ++p) {
            const int other = (p + distance) % (P - 1);
            schedule.early.push_back({distance - 1, p, other, other, true});
        }
    schedule.early_rounds = P - 2;
    schedule.late = late_part(P);
    // Renumber: the straggler gets its own number back, and the last rank, whose number it had, takes the straggler's place here.
    for (std::vector<ChunkMessage>* part : {&schedule.early, &schedule.late})
        for (ChunkMessage& message : *part)
            for (int* number : {&message.sender, &message.receiver})
                *number = *number == P - 1 ? straggler : *number == straggler ? P - 1 : *number;
    return schedule;
}

}  // namespace rollcall::collectives
