// Reduce_scatter through node memory, our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across
// different process arrival patterns", section 3.1.
//
// Idea: each rank writes for each other one what it brings of that one's block, and combines its own block where the others have written
// it, as they come, in whatever order, or in rank order where that counts. A byte is copied in once and combined once.
//
// Example, n = 3, a block takes 1 to copy or to combine, all arrive at 0: each rank copies its own block until 1, writes those of the two
// others until 3, and combines what they wrote for it until 5.
#include <utility>

#include "collectives/published_parts.hpp"
#include "collectives/reduce_scatter/reduce_scatter.hpp"

namespace rollcall::collectives {

Task reduce_scatter_shared_memory(Operation& op) {
    const auto& arguments = op.arguments();
    if (op.size() == 1) {
        co_await copy_own(op, arguments.data, arguments.contribution);
        co_return;
    }
    PublishedParts parts{.brought = [&](int rank) { return brought_for(op, rank); }, .own = arguments.data};
    co_await combine_published_parts(op, std::move(parts));
}

}  // namespace rollcall::collectives
