// Pre-reduced ring (PRR), after J. Proficz, "Improving all-reduce collective operations for imbalanced process arrival patterns", Journal
// of Supercomputing 2018. The text that we have gives the idea; the construction is our own.
//
// The ranks stand in the ring in the order of their arrival. Where a rank comes so much later than the one before it that k messages fit in
// between, that one sends it the first k chunks before the ring begins, and is left out when they are combined. The ring keeps its
// timetable: chunk c is sent by the rank that stands x places behind position c in round x. So what is left out makes no round fuller, and
// a chunk that was to end at a rank that is left out is complete, and goes round all ranks, as many rounds earlier.
//
// Example, P = 3, arrivals 0, 0, 2 rounds: 1 has time for two chunks: round 1: 1 -0-> 2; 2: 1 -1-> 2. Then the ring: 3: 0 -0-> 2
// (complete), 2 -2-> 0; 4: 2 -1-> 0 (complete), 0 -2-> 1 (complete); 5: 2 -0-> 0, 0 -1-> 1, 1 -2-> 2; 6: 0 -0-> 1, 1 -1-> 2, 2 -2-> 0.
#include "collectives/schedules/pre_reduced_ring.hpp"

#include <algorithm>

namespace rollcall::collectives {

std::vector<ChunkMessage> pre_reduced_ring(std::span<const Nanoseconds> arrivals, Nanoseconds round_time, int only) {
    const int P = static_cast<int>(arrivals.size());
    const std::vector<int> order = order_of_arrival(arrivals);
    const auto arrival = [&](int position) { return arrivals[static_cast<std::size_t>(order[static_cast<std::size_t>(position)])]; };
    std::vector<ChunkMessage> messages;
    const auto add = [&](int round, int from, int to, int chunk, bool combine) {
        const int sender = order[static_cast<std::size_t>(from)], receiver = order[static_cast<std::size_t>(to)];
        if (only == kOfAllRanks || only == sender || only == receiver) messages.push_back({round, sender, receiver, chunk, combine});
    };
    // How many chunks each position sends to the next one beforehand.
    std::vector<int> before(static_cast<std::size_t>(P), 0);
    int ring = 0;  // the round in which it begins
    for (int position = 0; position + 1 < P; ++position) {
        const Nanoseconds fit = (arrival(position + 1) - arrival(position)) / round_time;
        const int chunks = static_cast<int>(std::min<Nanoseconds>(fit, P));
        before[static_cast<std::size_t>(position)] = chunks;
        for (int chunk = 0; chunk < chunks; ++chunk) add(position + chunk, position, position + 1, chunk, true);
        if (chunks > 0) ring = std::max(ring, position + chunks);
    }
    for (int chunk = 0; chunk < P; ++chunk) {
        // The place behind its own position of the last one that has a part of it.
        int last = -1;
        for (int place = 0; place < P; ++place) {
            const int position = (chunk + place) % P;
            if (position + 1 < P && chunk < before[static_cast<std::size_t>(position)]) continue;
            if (last >= 0) add(ring + last, (chunk + last) % P, position, chunk, true);
            last = place;
        }
        for (int place = last; place < last + P - 1; ++place) add(ring + place, (chunk + place) % P, (chunk + place + 1) % P, chunk, false);
    }
    return messages;
}

}  // namespace rollcall::collectives
