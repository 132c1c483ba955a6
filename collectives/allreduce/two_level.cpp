// Allreduce on two levels. The ranks of a node take part together, as in J. L. Träff and S. Hunold, "Decomposing MPI collectives for
// exploiting multi-lane communication", IEEE Cluster 2020.
//
// Idea: if the elements are many, they are cut into as many shares as the smallest node has ranks. The first ranks of each node combine a
// share each of what their node brings, through its memory. The ranks that have the same share combine it between the nodes; they form a
// lane. Then each publishes its share on its node. All cores of a node combine, and what leaves a node is as long as one rank's elements.
// If the elements are few, there are fewer lanes: one, which has all of them, if the nodes do not have many ranks.
//
// Example: nodes {0 1} {2 3}, one lane, a message takes 5, a copy takes 1, and so does combining, all ranks arrive at 0. Ranks 1 and 3
// write until 1. Ranks 0 and 2 wait for them, combine until 2, exchange until 7, combine until 8, and write until 9.
// Ranks 1 and 3 copy until 10. With two lanes, ranks 0 and 2 would do so with the first half of the elements, and ranks 1 and 3 with the
// second half.
#include <vector>

#include "collectives/allreduce/allreduce.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {

Task allreduce_two_level(Operation& op) {
    // No elements, no shares: the messages only show that all ranks make the same call.
    if (op.arguments().contribution.size == 0) {
        co_await allreduce_recursive_doubling(op);
        co_return;
    }
    const Levels levels(op);
    const runtime::Arguments arguments = op.arguments();
    const int place = levels.place();
    const Lanes lanes(op, lanes_of_all(arguments.data.size, levels));
    const auto own = lanes.part(arguments.data, place);
    co_await combine_on_node(op, levels.here(), place, lanes, own, runtime::InPlace::anywhere);
    if (place < lanes.count() && levels.nodes() > 1) {
        const std::vector<int> lane = levels.at_place(place);
        runtime::Arguments share = arguments;
        share.data = own;
        share.contribution = own;
        const auto algorithm = between_nodes(OperationKind::allreduce, op, own.size, levels.nodes());
        const Among nodes(op, lane, levels.node(), 0, share);
        co_await algorithm(op);
    }
    if (levels.here().size() > 1) co_await share_with_node(op, levels, lanes, arguments);
}

}  // namespace rollcall::collectives
