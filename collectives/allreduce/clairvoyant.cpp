// Clairvoyant allreduce. The reduction is that of J. Proficz and K. M. Ocetkiewicz, "Improving Clairvoyant: reduction algorithm resilient
// to imbalanced process arrival patterns", 2020, who name the allreduce as future work; the broadcast is our own.
//
// Idea: all ranks compute the same schedule from the times at which the ranks are expected. The elements go in pieces to the rank that is
// expected first, which is the root, so that those of early ranks are combined by the time the last rank arrives. As soon as a piece is
// complete, it spreads over all ranks, while other pieces are still on their way to the root. With one rank late, the operation takes a
// little more than one message after its arrival. A rank whose arrival is not predicted counts as the last one. If all ranks, or several
// of them, are expected at about the same time, the root is a bottleneck. Then the schedules of allreduce/straggler.cpp, or a ring, are
// predicted to end earlier, and one of these is carried out.
//
// Example: 3 ranks, of which the last one arrives later, and two pieces. It is shown message by message in
// collectives/schedules/clairvoyant_allreduce.cpp.
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/allreduce/foreseen.hpp"
#include "collectives/arrivals/foresight.hpp"
#include "collectives/schedules/clairvoyant_allreduce.hpp"

namespace rollcall::collectives {
namespace {

ForeseenPart clairvoyant_part(Operation& op, std::span<const Nanoseconds> arrivals) {
    std::vector<Share> pieces = pieces_of(op, op.arguments().segment_bytes, kMostForeseenPieces);
    const auto count = static_cast<int>(pieces.size());
    const Nanoseconds time = foreseen_time(op, pieces[0].size());
    EarliestEnd earliest(op, arrivals);
    earliest.consider_ring_and_late_groups();
    if (earliest.would_keep(clairvoyant_allreduce_earliest_end(arrivals, count, time)))
        earliest.consider(std::move(pieces), clairvoyant_allreduce(arrivals, count, time));
    return earliest.part();
}

}  // namespace

Task allreduce_clairvoyant(Operation& op) { co_await allreduce_by_comparison(op, &clairvoyant_part); }

}  // namespace rollcall::collectives
