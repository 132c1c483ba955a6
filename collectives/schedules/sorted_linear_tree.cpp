// Sorted linear tree (SLT), after J. Proficz, "Improving all-reduce collective operations for imbalanced process arrival patterns", Journal
// of Supercomputing 2018. Its text gives the idea: a chain of ranks by arrival, in segments.
//
// Example: order 2, 0, 1, two pieces. Round 0: 2 -0-> 0. Round 1: 2 -1-> 0, 0 -0-> 1. Round 2: 0 -1-> 1, 1 -0-> 2 (complete). Round 3: 1
// -1-> 2, 2 -0-> 0. Round 4: 2 -1-> 0.
#include "collectives/schedules/sorted_linear_tree.hpp"

#include <algorithm>

namespace rollcall::collectives {

std::vector<ChunkMessage> sorted_linear_tree(std::span<const int> order, int pieces, int only) {
    const int P = static_cast<int>(order.size());
    std::vector<ChunkMessage> messages;
    const auto add = [&](int round, int from, int to, int piece, bool combine) {
        const int sender = order[static_cast<std::size_t>(from)], receiver = order[static_cast<std::size_t>(to)];
        if (only == kOfAllRanks || only == sender || only == receiver) messages.push_back({round, sender, receiver, piece, combine});
    };
    const auto add_at = [&](int link, int piece) {
        add(link + piece, link, link + 1, piece, true);
        add(P - 1 + link + piece, link == 0 ? P - 1 : link - 1, link, piece, false);
    };
    // One rank has a part at the links before and behind its place and at the next one, and the last rank also at link 0.
    int first = 0, end = P - 1;
    bool is_last = false;
    if (only != kOfAllRanks) {
        const int place = static_cast<int>(std::find(order.begin(), order.end(), only) - order.begin());
        first = std::max(place - 1, 0);
        end = std::min(place + 2, P - 1);
        is_last = place == P - 1 && first > 0;
    }
    for (int piece = 0; piece < pieces; ++piece) {
        if (is_last) add_at(0, piece);
        for (int link = first; link < end; ++link) add_at(link, piece);
    }
    return messages;
}

}  // namespace rollcall::collectives
