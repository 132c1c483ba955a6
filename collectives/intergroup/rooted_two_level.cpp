// Broadcast, scatter and gather between two groups on several nodes. The levels are those of R. Graham et al., "Cheetah: a framework for
// scalable hierarchical collective operations", CCGrid 2011.
//
// Idea: they are the operations on two levels of one group that consists of the ranks of the other group and the root. So as many messages
// leave or enter the root as there are nodes on which the other group has ranks, without the root's own one, or as the tree between these
// nodes has branches there. Ranks of the root's group that are on these nodes have no part. A rank that passes data on need not have
// arrived: its part begins with the message (runtime/engine/deputy.hpp).
//
// Example: nodes {a0 b0} {b1 b2}, root a0, a message takes 5, a copy takes 1, all ranks arrive at 0. Broadcast: a0->b1 until 5. a0 writes
// for b0 until 6, and b0 copies until 7. b1 writes for b2 until 6, and b2 copies until 7. Scatter: a0 writes the block of b0 until 1, which
// copies it until 2. a0->b1 (both blocks) until 10. b1 writes that of b2 until 11 and copies its own until 12, b2 copies until 12. Gather:
// b0 and b2 write until 1. a0 copies the block of b0 until 2. b1 copies its own block until 1, and that of b2 until 2. b1->a0 (both)
// until 12.
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/gather/gather.hpp"
#include "collectives/intergroup/intergroup.hpp"
#include "collectives/intergroup/rooted.hpp"
#include "collectives/scatter/scatter.hpp"

namespace rollcall::collectives {
namespace {

Task as_one_group(Operation& op, runtime::Algorithm algorithm) {
    const RootedPart part(op);
    if (!part.takes_part()) {
        co_await op.arrival();
        co_return;
    }
    const std::vector<int> ranks = with_root_last(part.others, op.root());
    const int own = part.is_root ? part.others.size : part.sides.member;
    const Operation::Among group(op, ranks, own, part.others.size, op.arguments());
    co_await algorithm(op);
}

}  // namespace

Task intergroup_broadcast_two_level(Operation& op) { return as_one_group(op, &broadcast_two_level); }
Task intergroup_scatter_two_level(Operation& op) { return as_one_group(op, &scatter_two_level); }
Task intergroup_gather_two_level(Operation& op) { return as_one_group(op, &gather_two_level); }

}  // namespace rollcall::collectives
