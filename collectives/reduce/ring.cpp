// Ring reduce. M. Barnett, R. Littlefield, D. Payne and R. van de Geijn, "On the efficiency of global combine algorithms for 2-D meshes
// with wormhole routing", Journal of Parallel and Distributed Computing 1995 (the bucket algorithm). J. Proficz and K. M. Ocetkiewicz,
// "Improving Clairvoyant", 2020, section 6, compare Clairvoyant with it.
//
// Idea: the elements are cut into one block for each rank. In P - 1 steps the blocks go round a ring and are combined on their way, as in
// the ring allreduce. Now each rank has a complete block, and the blocks go to the root up a binomial tree. The root receives 2 (P - 1) / P
// of the elements, and the port of every rank is busy in each step of the ring. Ranks and blocks are counted from the root on. A block is
// combined in the order of the ring, which is not rank order.
//
// Example: P = 4, root 0, all elements take 4. In three steps each rank sends a quarter and receives one, until 3. Now rank r has block r.
// 1->0 and 3->2 send it until 4; 2->0 sends two blocks until 6.
#include <utility>

#include "collectives/blocks/ring.hpp"
#include "collectives/combining/combining.hpp"
#include "collectives/reduce/reduce.hpp"

namespace rollcall::collectives {

Task reduce_ring(Operation& op) {
    const int n = op.size(), own = (op.rank() - op.root() + n) % n;
    const auto data = op.arguments().data;
    const auto contribution = op.arguments().contribution;
    if (n == 1) {
        co_await copy_own(op, data, contribution);
        co_return;
    }
    const Parts parts = even_parts(op, n);
    const std::uint64_t longest = parts[0].size();
    const Scratch memory((own == 0 ? 2 : 3) * longest, contribution);
    const auto room = [&](std::uint64_t number) { return runtime::slice(memory.bytes(), number * longest, longest); };
    const auto complete = own == 0 ? parts_of(data, parts, 0, 0) : runtime::slice(room(2), 0, parts[own].size());
    RingBlocks blocks{.room = {room(0), room(1)},
                      .brought = [&](int number) { return parts_of(contribution, parts, number, number); },
                      .combined = [&](int number, transport::Bytes come) { return number == own ? complete : come; }};
    co_await combine_around_ring(op, own - 1, std::move(blocks));
    const Members members{.size = n, .shift = op.root()};
    co_await gather_up(op, members, own, parts, complete, data, static_cast<std::uint64_t>(n - 1));
}

}  // namespace rollcall::collectives
