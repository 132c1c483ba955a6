// Allreduce through node memory, our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different
// process arrival patterns", section 3.1.
//
// Idea: what is short everybody writes into memory that the ranks of the node share, and combines for itself, in rank order, where it
// stands. What is long is cut into a share for each rank. Each rank writes for each other one the elements of that one's share, combines
// its own share as the others come, in whatever order or in rank order where that counts, and writes the result for all: a byte is copied
// in once, combined once, and copied out once, and all do a like part of it.
//
// Example, n = 2, elements (1 2 3 4) and (5 6 7 8): 0 writes (3 4) for 1, 1 writes (5 6) for 0; 0 combines (6 8) and writes them for all, 1
// combines (10 12) and does so too; each copies the other's result out.
#include <utility>

#include "collectives/allreduce/allreduce.hpp"
#include "collectives/combining.hpp"
#include "collectives/published.hpp"
#include "collectives/published_parts.hpp"

namespace rollcall::collectives {
namespace {

/// So much is read by everybody from everybody: shorter than what a share each would cost in words.
constexpr std::uint64_t kShort = 4096;

Task combine_for_itself(Operation& op) {
    co_await publish_all(op, kEverybody, op.arguments().contribution, Publisher::reads);
    co_await combine_in_rank_order(op, true);
}

Task combine_shares(Operation& op) {
    const auto& arguments = op.arguments();
    const auto part = [&](auto all, int rank) { return part_of(all, share_of(op, rank)); };
    PublishedParts parts{.brought = [&](int rank) { return part(arguments.contribution, rank); },
                         .own = part(arguments.data, op.rank()),
                         .others = [&](int rank) { return part(arguments.data, rank); }};
    co_await combine_published_parts(op, std::move(parts));
}

}  // namespace

Task allreduce_shared_memory(Operation& op) {
    if (op.size() == 1) return combine_in_rank_order(op, true);
    return op.arguments().data.size <= kShort ? combine_for_itself(op) : combine_shares(op);
}

}  // namespace rollcall::collectives
