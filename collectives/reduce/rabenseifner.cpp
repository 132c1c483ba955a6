// Rabenseifner's reduce. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH",
// International Journal of High Performance Computing Applications 2005, section 4.5.
//
// Idea: a reduce_scatter by recursive halving, followed by a gather up a binomial tree. In these 2 log2 P steps the root sends and receives
// at most twice (P - 1) / P of the elements, where a binomial tree brings it all elements log2 P times. Ranks are counted from the root on.
// If P is not a power of two, the first ranks form pairs, and one rank of each pair takes part for both. The elements are not combined in
// rank order.
//
// Example: P = 4, root 0, all elements take 4, full duplex. 0 <-> 2 and 1 <-> 3 exchange half of them until 2; 0 <-> 1 and 2 <-> 3 exchange
// a quarter until 3. Now each rank has a quarter. 1->0 and 3->2 send it until 4; 2->0 sends a half until 6.
#include <optional>

#include "collectives/combining/recursive_halving.hpp"
#include "collectives/reduce/reduce.hpp"

namespace rollcall::collectives {

Task reduce_rabenseifner(Operation& op) {
    constexpr std::uint64_t kPair = 0, kUp = 1, kHalves = 2;
    transport::ConstBytes brought = op.arguments().contribution;
    if (op.size() == 1) {
        co_await copy_own(op, op.arguments().data, brought);
        co_return;
    }
    const Folding folding(op, op.root());
    if (folding.is_idle()) {
        co_await combine_pair(op, folding, {}, kPair);
        co_return;
    }
    std::optional<Scratch> scratch;
    if (op.rank() != op.root()) scratch.emplace(brought.size, brought);
    const transport::Bytes sum = scratch ? scratch->bytes() : op.arguments().data;
    if (folding.is_paired()) {
        co_await combine_pair(op, folding, sum, kPair);
        brought = sum;
    }
    const Parts parts = even_parts(op, folding.all());
    const RadixGroups pairs = halving_groups(folding);
    co_await combine_in_groups(op, pairs, parts, brought, sum, parts_of(sum, parts, pairs.own, pairs.own), kHalves);
    co_await gather_at_first(op, pairs, parts, sum, kUp);
}

}  // namespace rollcall::collectives
