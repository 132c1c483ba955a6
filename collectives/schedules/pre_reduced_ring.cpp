// Pre-reduced ring (PRR), after J. Proficz, "Improving all-reduce collective operations for imbalanced process arrival patterns", Journal
// of Supercomputing 2018. The text available to us gives the idea; the construction is our own.
//
// The ranks form a ring in the order of their arrival. If a rank arrives so much later than the rank before it that k messages fit in
// between, the earlier rank sends it the first k chunks before the ring begins, and is left out when these chunks are combined. The ring
// keeps its timetable: chunk c is sent in round x by the rank that is x places behind position c. So leaving out a rank adds no messages to
// any round. A chunk that would have ended at a rank that is left out is complete earlier, and goes round all ranks as many rounds earlier.
//
// Example: P = 3, the ranks arrive at 0, 0 and 2 rounds. Rank 1 has time for two chunks. Round 1: 1 -0-> 2. Round 2: 1 -1-> 2. Then the
// ring begins. Round 3: 0 -0-> 2 (complete), 2 -2-> 0. Round 4: 2 -1-> 0 (complete), 0 -2-> 1 (complete). Round 5: 2 -0-> 0, 0 -1-> 1, 1
// -2-> 2. Round 6: 0 -0-> 1, 1 -1-> 2, 2 -2-> 0.
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
    // How many chunks the rank at each position sends to the next one before the ring begins.
    std::vector<int> before(static_cast<std::size_t>(P), 0);
    int ring = 0;  // the round in which the ring begins
    for (int position = 0; position + 1 < P; ++position) {
        const Nanoseconds fit = (arrival(position + 1) - arrival(position)) / round_time;
        const int chunks = static_cast<int>(std::min<Nanoseconds>(fit, P));
        before[static_cast<std::size_t>(position)] = chunks;
        for (int chunk = 0; chunk < chunks; ++chunk) add(position + chunk, position, position + 1, chunk, true);
        if (chunks > 0) ring = std::max(ring, position + chunks);
    }
    for (int chunk = 0; chunk < P; ++chunk) {
        // How many places behind position `chunk` the last rank is that has a part of the chunk.
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
