// Sorted linear tree (SLT). J. Proficz, "Improving all-reduce collective operations for imbalanced process arrival patterns", Journal of
// Supercomputing 2018.
//
// Idea: the ranks form a chain in the order in which they are expected. So the elements of early ranks are combined by the time the late
// ranks arrive. The elements are cut into pieces. These go down the chain and are complete at its end; from there they go down the chain
// once more.
//
// Example: 3 ranks that arrive in the order 2, 0, 1, and two pieces. It is shown in collectives/schedules/sorted_linear_tree.cpp.
#include "collectives/schedules/sorted_linear_tree.hpp"
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/allreduce/foreseen.hpp"
#include "collectives/arrivals/foresight.hpp"

namespace rollcall::collectives {
namespace {

ForeseenPart sorted_linear_tree_part(Operation& op, std::span<const Nanoseconds> arrivals) {
    std::vector<Share> pieces = pieces_of(op, op.arguments().segment_bytes, kMostForeseenPieces);
    const auto messages = sorted_linear_tree(order_of_arrival(arrivals), static_cast<int>(pieces.size()), op.rank());
    return {std::move(pieces), steps_of(messages, op.rank())};
}

}  // namespace

Task allreduce_sorted_linear_tree(Operation& op) { co_await allreduce_foreseen(op, &sorted_linear_tree_part); }

}  // namespace rollcall::collectives
