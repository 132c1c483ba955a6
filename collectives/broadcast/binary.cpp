// Broadcast in pieces down a binary tree. P. Sanders and J. F. Sibeyn, "A bandwidth latency tradeoff for broadcast and reduction",
// Information Processing Letters 86 (2003), compare it with chains and binomial trees.
//
// Idea: a compromise of a binomial tree and a chain. No rank sends the message more than twice, however many ranks there are, and the
// longest path has log2 n edges. The message is cut into X segments, and each rank passes a segment on to both children as soon as it has
// received it. So the next call waits for the root's link for two messages, and not for log2 n.
//
// Example: n = 4, root 0, X = 3 segments that take 1 each, all ranks arrive at 0. 0 has the children 1 and 3; 1 has the child 2. Rank 1 has
// the segments at 1, 3, 5, and passes them on until 2, 4, 6; rank 3 has them at 2, 4, 6.
#include "collectives/trees/binary.hpp"
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives {

Task broadcast_binary(Operation& op) {
    TreePlace place = binary_tree(op.size(), op.root(), op.rank());
    return relay_to_caller(op, place.parent, std::move(place.children));
}

}  // namespace rollcall::collectives
