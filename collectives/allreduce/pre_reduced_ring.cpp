// Pre-reduced ring (PRR). J. Proficz, "Improving all-reduce collective operations for imbalanced process arrival patterns", Journal of
// Supercomputing 2018.
//
// Idea: a ring of the ranks in the order in which they are expected. A rank that arrives long before the next one sends it some blocks
// ahead, and is left out when these blocks are combined. If all ranks are expected at the same time, it is the plain ring.
//
// Example: 3 ranks, of which the last one arrives two messages later. It is shown in collectives/schedules/pre_reduced_ring.cpp.
#include "collectives/schedules/pre_reduced_ring.hpp"
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/allreduce/foreseen.hpp"
#include "collectives/arrivals/foresight.hpp"

namespace rollcall::collectives {
namespace {

ForeseenPart pre_reduced_ring_part(Operation& op, std::span<const Nanoseconds> arrivals) {
    std::vector<Share> blocks;
    for (int number = 0; number < op.size(); ++number) blocks.push_back(share_of(op, number));
    const auto messages = pre_reduced_ring(arrivals, foreseen_time(op, blocks[0].size()), op.rank());
    return {std::move(blocks), steps_of(messages, op.rank())};
}

}  // namespace

Task allreduce_pre_reduced_ring(Operation& op) { co_await allreduce_foreseen(op, &pre_reduced_ring_part); }

}  // namespace rollcall::collectives
