// Binomial reduce. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH", International
// Journal of High Performance Computing Applications 2005, section 4.5.
//
// Idea: the binomial broadcast backwards: a rank combines what its children send with what it has, and sends that on: log2 P messages on
// the longest way, and combining is shared out. What does not commute goes up a tree of rank 0, in whose subtrees ranks follow one another,
// and from there to the root.
//
// Example, P = 6, root 0, a message takes 1, all arrive at 0: 1->0, 3->2, 5->4 until 1; 2->0 (c + d) until 2; 4->0 (e + f) until 3.
#include "collectives/combining.hpp"
#include "collectives/reduce/reduce.hpp"

namespace rollcall::collectives {

Task reduce_binomial(Operation& op) {
    constexpr std::uint64_t kUp = 0, kAcross = 1;
    const auto data = op.arguments().data;
    const int top = op.arguments().combiner.is_commutative ? op.root() : 0;
    if (top == op.root()) {
        co_await combine_up_tree(op, top, data, kUp);
    } else if (op.rank() == top) {
        const Scratch combined(op.arguments().contribution.size, op.arguments().contribution);
        co_await combine_up_tree(op, top, combined.bytes(), kUp);
        co_await op.send(op.root(), combined.bytes(), kAcross);
    } else {
        co_await combine_up_tree(op, top, {}, kUp);
        if (op.rank() == op.root()) co_await op.receive(top, data, kAcross);
    }
}

}  // namespace rollcall::collectives
