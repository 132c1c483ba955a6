// Barrier on two levels. It is our own; the levels are those of R. Graham et al., "Cheetah: a framework for scalable hierarchical
// collective operations", CCGrid 2011.
//
// Idea: the ranks of a node tell the lowest of them, through the memory of the node, that they are there. When a node is complete, its
// lowest rank takes part in a dissemination barrier of the nodes, and then tells the ranks of its node. Messages go between nodes only.
//
// Example: nodes {0 1} {2 3}, a message takes 5, all ranks arrive at 0, but rank 3 at 2. 1 and 3 write for 0 and 2, at 0 and 2. 0->2 until
// 5, 2->0 until 7. Rank 3 leaves at 5, and the others at 7.
#include <vector>

#include "collectives/barrier/barrier.hpp"
#include "collectives/published/published.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {

Task barrier_two_level(Operation& op) {
    const Levels levels(op);
    const runtime::Arguments arguments = op.arguments();
    const std::vector<int>& here = levels.here();
    const int place = levels.place(), ranks = static_cast<int>(here.size());
    if (ranks > 1) {
        const Among node(op, here, place, 0, arguments);
        if (place > 0) co_await publish_all(op, 0, {}, Publisher::reads);
        for (int other = 1; place == 0 && other < ranks; ++other) co_await copy_all(op, other, false, {});
    }
    if (place == 0) {
        const std::vector<int> leaders = levels.at_place(0);
        const Among nodes(op, leaders, levels.node(), 0, arguments);
        co_await barrier_dissemination(op);
    }
    if (ranks > 1) {
        const Among node(op, here, place, 0, arguments);
        if (place == 0)
            co_await publish_all(op, kEverybody, {}, Publisher::reads);
        else
            co_await copy_all(op, 0, true, {});
    }
}

}  // namespace rollcall::collectives
