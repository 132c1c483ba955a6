// Rabenseifner's allreduce. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH",
// International Journal of High Performance Computing Applications 2005, section 4.5.
//
// Idea: a reduce_scatter by recursive halving, followed by an allgather by recursive doubling. In these 2 log2 P steps each rank sends and
// receives 2 (P - 1) / P of the elements, as little as in the 2 (P - 1) steps of a ring. If P is not a power of two, the first ranks form
// pairs, and one rank of each pair takes part for both; then the elements are sent twice more. The elements are not combined in rank order.
//
// Example: P = 4, all elements take 4, full duplex. 0 <-> 2 and 1 <-> 3 exchange half of them until 2; 0 <-> 1 and 2 <-> 3 exchange a
// quarter until 3. Now each rank has a combined quarter. 0 <-> 1 and 2 <-> 3 exchange it until 4; 0 <-> 2 and 1 <-> 3 exchange a half until
// 6.
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/combining/recursive_halving.hpp"

namespace rollcall::collectives {

Task allreduce_rabenseifner(Operation& op) {
    constexpr std::uint64_t kPair = 0, kBack = 1, kHalves = 2;
    const auto data = op.arguments().data;
    transport::ConstBytes brought = op.arguments().contribution;
    if (op.size() == 1) {
        co_await copy_own(op, data, brought);
        co_return;
    }
    const Folding folding(op);
    if (folding.is_paired()) co_await combine_pair(op, folding, data, kPair);
    if (folding.is_idle()) {
        co_await op.receive(folding.partner(), data, kBack);
        co_return;
    }
    if (folding.is_paired()) brought = data;
    const Parts parts = even_parts(op, folding.all());
    const auto own = parts_of(data, parts, folding.number(), folding.number());
    co_await combine_in_groups(op, halving_groups(folding), parts, brought, data, own, kHalves);
    co_await double_up(op, folding, parts, data, kHalves + halving_steps(folding));
    if (folding.is_paired()) co_await op.send(folding.partner(), data, kBack);
}

}  // namespace rollcall::collectives
