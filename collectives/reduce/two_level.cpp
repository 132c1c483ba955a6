// Reduce on two levels. The ranks of a node take part together, as in J. L. Träff and S. Hunold, "Decomposing MPI collectives for
// exploiting multi-lane communication", IEEE Cluster 2020.
//
// Idea: the elements are cut into as many shares as the smallest node has ranks, or into one share if they are few. On each node as many
// ranks combine one share each of what their node brings, through its memory. The other ranks write and leave. The ranks that have the same
// share form a lane, which reduces it to the root's node. There the root gathers the shares. What a rank that combines brings is not copied
// if it is in memory that the program has taken from the runtime (Job::allocate()).
//
// Example: nodes {0 1} {2 3}, root 0, one lane, a message takes 5, a copy takes 1, and so does combining, all ranks arrive at 0. Ranks 1
// and 3 write until 1 and leave. Ranks 0 and 2 wait for them and combine until 2. 2->0 until 7. Rank 0 combines until 8.
#include <algorithm>
#include <array>
#include <vector>

#include "collectives/published/published.hpp"
#include "collectives/reduce/reduce.hpp"
#include "collectives/relay.hpp"
#include "collectives/two_level/reduce_to_node.hpp"

namespace rollcall::collectives {

Task reduce_to_node(Operation& op, const Levels& levels, const Lanes& lanes, LaneEnds to) {
    const auto& [node, ranks, place, own] = to;
    const bool is_there = levels.node() == node;
    const runtime::Arguments arguments = op.arguments();
    // A rank that combines waits for the others anyway, and all of them have come when it is done. The others leave, if they may.
    const bool combines = place < lanes.count();
    const InPlace in_place = combines ? InPlace::anywhere : op.stays() ? InPlace::shared : InPlace::nothing;
    co_await combine_on_node(op, is_there ? ranks : levels.here(), place, lanes, own, in_place);
    if (!combines || levels.nodes() == 1) co_return;
    std::vector<int> lane = levels.at_place(place);
    lane[static_cast<std::size_t>(node)] = ranks[static_cast<std::size_t>(place)];
    runtime::Arguments share = arguments;
    share.contribution = own;
    share.data = is_there ? own : transport::Bytes{};
    share.segment_bytes = chain_between_nodes(op, own.size, levels.nodes());
    const auto algorithm = between_nodes(OperationKind::reduce, op, own.size, levels.nodes());
    const Among nodes(op, lane, levels.node(), node, share);
    co_await algorithm(op);
}

Task reduce_two_level(Operation& op) {
    // No elements, no shares: the messages only show that all ranks make the same call.
    if (op.arguments().contribution.size == 0) {
        co_await reduce_binomial(op);
        co_return;
    }
    const Levels levels(op);
    const runtime::Arguments arguments = op.arguments();
    const auto contribution = arguments.contribution;
    const int rank = op.rank(), root = op.root(), node_of_root = levels.node_of(root);
    const bool is_at_root = levels.node() == node_of_root;
    // On the root's node the root comes first, so that its share is where it is wanted.
    std::vector<int> of_root = levels.on(node_of_root);
    std::rotate(of_root.begin(), std::find(of_root.begin(), of_root.end(), root), of_root.end());
    const std::vector<int>& here = is_at_root ? of_root : levels.here();
    const int place = static_cast<int>(std::find(here.begin(), here.end(), rank) - here.begin());

    const Lanes lanes(op, contribution.size <= kOneLane ? 1 : levels.fewest());
    const Scratch scratch(rank == root ? 0 : lanes.part(contribution, place).size, contribution);
    const auto own = rank == root ? lanes.part(arguments.data, 0) : scratch.bytes();
    const LaneEnds ends{node_of_root, of_root, place, own};
    co_await reduce_to_node(op, levels, lanes, ends);
    if (place >= lanes.count() || !is_at_root) co_return;
    for (int other = 1; other < lanes.count(); ++other) {
        if (rank != root && place != other) continue;
        const std::array pair{root, of_root[static_cast<std::size_t>(other)]};
        const Among both(op, pair, rank == root ? 0 : 1, 0, arguments, kResultSteps);
        if (rank == root)
            co_await copy_all(op, 1, true, lanes.part(arguments.data, other));
        else
            co_await publish_all(op, kEverybody, own);
    }
}

}  // namespace rollcall::collectives
