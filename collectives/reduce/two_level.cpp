// Reduce on two levels. The ranks of a node take part together, as in J. L. Träff and S. Hunold, "Decomposing MPI collectives for
// exploiting multi-lane communication", IEEE Cluster 2020.
//
// Idea: the elements are cut into as many shares as the smallest node has ranks, or into fewer if they are short (lanes_of_all()). On each
// node as many ranks combine one share each of what their node brings, through its memory. The other ranks write and leave. A rank that
// combines need not wait for the ranks of its node: its part goes on without it (runtime/engine/deputy.hpp). The ranks that have the same
// share form a lane, which reduces it to the root's node. There the root gathers the shares. What a rank that combines brings is not copied
// if it is in memory that the program has taken from the runtime (Job::allocate()), and if its caller stays: the root, a caller that asks
// for it (until_delivered), or any with ROLLCALL_DECOUPLE=no. Of a caller that hands over, the deputy publishes a second copy out of
// landing memory.
//
// Example: nodes {0 1} {2 3}, root 0, one lane, a message takes 5, a copy takes 1, and so does combining, all ranks arrive at 0. Ranks 1
// and 3 write until 1 and leave. Ranks 0 and 2 combine until 2. 2->0 until 7. Rank 0 combines until 8.
#include <algorithm>
#include <array>
#include <vector>

#include "collectives/published/published.hpp"
#include "collectives/reduce/reduce.hpp"
#include "collectives/relay.hpp"
#include "collectives/two_level/reduce_to_node.hpp"

namespace rollcall::collectives {

Task reduce_to_node(Operation& op, const Levels& levels, const Lanes& lanes, LaneEnds to) {
    const auto& [node, ranks, place, own, spare] = to;
    const bool is_there = levels.node() == node;
    const runtime::Arguments arguments = op.arguments();
    // A rank that combines waits for the others anyway, and all of them have come when it is done. The others leave, if they may.
    const bool combines = place < lanes.count();
    const InPlace in_place = combines ? InPlace::anywhere : op.stays() ? InPlace::shared : InPlace::nothing;
    const bool is_alone = levels.here().size() == 1 && !is_there;
    if (!is_alone) co_await combine_on_node(op, is_there ? ranks : levels.here(), place, lanes, own, in_place);
    if (!combines || levels.nodes() == 1) co_return;
    if (is_alone) co_await op.arrival();
    std::vector<int> lane = levels.at_place(place);
    lane[static_cast<std::size_t>(node)] = ranks[static_cast<std::size_t>(place)];
    runtime::Arguments share = arguments;
    share.contribution = is_alone ? lanes.part(arguments.contribution, place) : transport::ConstBytes(own);
    share.data = is_there ? own : spare;
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

    const Lanes lanes(op, lanes_of_all(contribution.size, levels));
    // A part that runs without its caller has memory for its share, and for what its lane brings.
    const std::uint64_t size = lanes.part(contribution, place).size;
    const auto kept = rank == root ? transport::Bytes{} : arguments.data;
    const Scratch scratch(rank == root || kept.size >= size ? 0 : size, contribution);
    const auto own = rank == root ? lanes.part(arguments.data, 0) : kept.size >= size ? runtime::slice(kept, 0, size) : scratch.bytes();
    // As long as a share: what is combined there is sent as it is. (Shares differ by an element, so the memory may be a little longer.)
    const auto spare = kept.size >= 2 * size ? runtime::slice(kept, size, size) : transport::Bytes{};
    const LaneEnds ends{node_of_root, of_root, place, own, spare};
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

namespace {

/// The lane of a rank in a call of this size: its place among the ranks of its node, where the root comes first.
struct LaneOf {
    LaneOf(std::uint64_t bytes, int root, int rank, const runtime::Nodes& nodes) {
        const NodeSizes sizes = sizes_of(nodes);
        count = static_cast<int>(lanes_of_all(static_cast<double>(bytes), sizes.most, sizes.fewest));
        const std::vector<int>& here = nodes.members[static_cast<std::size_t>(nodes.of[static_cast<std::size_t>(rank)])];
        number = static_cast<int>(std::lower_bound(here.begin(), here.end(), rank) - here.begin());
        const bool is_at_root = nodes.of[static_cast<std::size_t>(rank)] == nodes.of[static_cast<std::size_t>(root)];
        if (is_at_root && rank < root) ++number;
    }
    bool exists() const { return number < count; }
    int count, number;
};

}  // namespace

bool reduce_two_level_only_publishes(std::uint64_t bytes, int root, int rank, const runtime::Group& group) {
    return rank != root && group.nodes && !LaneOf(bytes, root, rank, *group.nodes).exists();
}

std::uint64_t reduce_two_level_passes_on(std::uint64_t bytes, int root, int rank, const runtime::Group& group) {
    if (rank == root || !group.nodes) return 0;
    const LaneOf lane(bytes, root, rank, *group.nodes);
    const auto lanes = static_cast<std::uint64_t>(lane.count);
    return lane.exists() ? 2 * ((bytes + lanes - 1) / lanes) : 0;
}

}  // namespace rollcall::collectives
