// Allreduce with stragglers. Devraj et al., "Accelerating AllReduce with a Persistent Straggler" (StragglAR), 2025, arXiv:2505.23523, for
// one late rank; the schedules, and those for several late ranks, are our own.
//
// Idea: all ranks but the ones that are expected last (the stragglers) reduce their elements before these arrive. With one straggler, each
// of the others then has a chunk, which it exchanges with the straggler, and meanwhile the complete chunks spread among the others. This
// takes P - 2 + log2 P steps of 1 / (P - 1) of the elements after the straggler's arrival, where a ring needs 2 (P - 1) steps of 1 / P.
// Several stragglers send each chunk to its owner, which is any rank, and from there it spreads. Which ranks count as stragglers follows
// from the largest gaps between the expected arrivals. The schedule whose end is predicted to be the earliest is carried out. If that is a
// ring, because all ranks are expected at about the same time, it is a ring.
//
// Example: P = 4, straggler 3. It is shown message by message in collectives/schedules/straggler.cpp, and one with two stragglers in
// collectives/schedules/late_group.cpp.
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/allreduce/foreseen.hpp"

namespace rollcall::collectives {
namespace {

ForeseenPart straggler_part(Operation& op, std::span<const Nanoseconds> arrivals) {
    EarliestEnd earliest(op, arrivals);
    earliest.consider_ring_and_late_groups();
    return earliest.part();
}

}  // namespace

Task allreduce_straggler(Operation& op) { co_await allreduce_by_comparison(op, &straggler_part); }

}  // namespace rollcall::collectives
