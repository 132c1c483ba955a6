// Sorted linear tree (SLT), after J. Proficz, "Improving all-reduce collective operations for imbalanced process arrival patterns", Journal
// of Supercomputing 2018. Its text gives the idea: a chain of ranks by arrival, in segments.
//
// Example: order 2, 0, 1, two pieces. Round 0: 2 -0-> 0. Round 1: 2 -1-> 0, 0 -0-> 1. Round 2: 0 -1-> 1, 1 -0-> 2 (complete). Round 3: 1
// -1-> 2, 2 -0-> 0. Round 4: 2 -1-> 0.
#include "collectives/schedules/sorted_linear_tree.hpp"

namespace rollcall::collectives {

std::vector<ChunkMessage> sorted_linear_tree(std::span<const int> order, int pieces, int only) {
    const int P = static_cast<int>(order.size());
    std::vector<ChunkMessage> messages;
    const auto add = [&](int round, int from, int to, int piece, bool combine) {
        const int sender = order[static_cast<std::size_t>(from)], receiver = order[static_cast<std::size_t>(to)];
        if (only == kOfAllRanks || only == sender || only == receiver) messages.push_back({round, sender, receiver, piece, combine});
    };
    for (int piece = 0; piece < pieces; ++piece)
        for (int link = 0; link + 1 < P; ++link) {
            add(link + piece, link, link + 1, piece, true);
            add(P - 1 + link + piece, link == 0 ? P - 1 : link - 1, link, piece, false);
        }
    return messages;
}

}  // namespace rollcall::collectives
