// Binomial reduce. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH", International
// Journal of High Performance Computing Applications 2005, section 4.5.
//
// Idea: this is the binomial broadcast, run backwards. Each rank combines what its children send with its own elements, and sends the
// result on. The longest path has log2 P messages, and the ranks share the work of combining. If the operation does not commute, the
// elements go up a tree with root 0, whose subtrees consist of consecutive ranks, and from rank 0 to the root.
//
// Example: P = 6, root 0, a message takes 1, all ranks arrive at 0. 1->0, 3->2, 5->4 until 1; 2->0 (c + d) until 2; 4->0 (e + f) until 3.
#include "collectives/combining/combining.hpp"
#include "collectives/reduce/reduce.hpp"
#include "collectives/trees/halving.hpp"

namespace rollcall::collectives {
namespace {

constexpr std::uint64_t kUp = 0, kToRoot = 1;

// The part of a rank whose caller has not come: what the children send is combined, and at last with the caller's own elements. Any order
// must do, because elsewhere the own elements come first.
Task combine_before_caller(Operation& op) {
    const int n = op.size(), position = (op.rank() - op.root() + n) % n;
    const auto rank_at = [&](int at) { return (at + op.root()) % n; };
    const auto contribution = op.arguments().contribution;
    const auto combined = runtime::slice(op.arguments().data, 0, contribution.size);
    const auto received = runtime::slice(op.arguments().data, contribution.size, contribution.size);
    int distance = 1;
    for (; !(position & distance); distance *= 2) {
        if (position + distance >= n) continue;
        co_await op.receive(rank_at(position + distance), distance == 1 ? combined : received, kUp);
        if (distance > 1) co_await op.combine(combined, combined, received);
    }
    co_await op.arrival();
    co_await op.combine(combined, contribution, combined);
    co_await op.send(rank_at(position - distance), combined, kUp);
}

}  // namespace

Task reduce_binomial(Operation& op) {
    if (!op.has_arrived()) {
        co_await combine_before_caller(op);
        co_return;
    }
    const auto data = op.arguments().data;  // at other ranks than the root: without a caller, there is memory for it
    const auto contribution = op.arguments().contribution;
    const int top = op.arguments().combiner.is_commutative ? op.root() : 0;
    if (top == op.root()) {
        co_await combine_up_tree(op, top, data, kUp);
    } else if (op.rank() == top) {
        const Scratch combined(contribution.size, contribution);
        co_await combine_up_tree(op, top, combined.bytes(), kUp);
        co_await op.send(op.root(), combined.bytes(), kToRoot);
    } else {
        co_await combine_up_tree(op, top, {}, kUp);
        if (op.rank() == op.root()) co_await op.receive(top, data, kToRoot);
    }
}

std::uint64_t reduce_binomial_collects(std::uint64_t bytes, int root, int rank, int ranks) {
    return halving_blocks(ranks, root, rank) > 1 ? 2 * bytes : 0;
}

}  // namespace rollcall::collectives
