// Sorted linear tree (SLT). J. Proficz, "Improving all-reduce collective operations for imbalanced process arrival patterns", Journal of
// Supercomputing 2018.
//
// Idea: the ranks form a chain in the order in which they are expected, so that what early ones bring has been combined when the late ones
// come; the elements are cut into pieces, which go down the chain, are complete at its end, and go down the chain once more from there.
//
// Example, 3 ranks that come in the order 2, 0, 1, and two pieces: in collectives/schedules/sorted_linear_tree.cpp.
#include "collectives/schedules/sorted_linear_tree.hpp"
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/allreduce/foreseen.hpp"

namespace rollcall::collectives {
namespace {

/// A rank has two messages of each.
constexpr std::uint64_t kMostPieces = 256;

ForeseenPart sorted_linear_tree_part(const Operation& op, std::span<const Nanoseconds> arrivals) {
    std::vector<Share> pieces = pieces_of(op, op.arguments().segment_bytes, kMostPieces);
    const auto messages = sorted_linear_tree(order_of_arrival(arrivals), static_cast<int>(pieces.size()), op.rank());
    return {std::move(pieces), steps_of(messages, op.rank())};
}

}  // namespace

Task allreduce_sorted_linear_tree(Operation& op) { co_await allreduce_foreseen(op, &sorted_linear_tree_part); }

}  // namespace rollcall::collectives
