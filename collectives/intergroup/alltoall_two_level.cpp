// Alltoall between two groups on several nodes. The levels are those of R. Graham et al., "Cheetah: a framework for scalable hierarchical
// collective operations", CCGrid 2011.
//
// Idea: it is an alltoall of all ranks of both groups in which the blocks within a group are empty, on two levels: the first rank of each
// node collects what its node sends, these ranks exchange one message for each pair of nodes, and each hands out what came. If blocks of a
// group have one size, all ranks know all sizes, and none are told. Otherwise the sizes go first (../alltoall/two_level_own_sizes.cpp).
//
// Example: nodes {a0 a1} {b0 b1}, blocks of one size, a message with a block takes 5, a copy of a block takes 1, all ranks arrive at 0.
// Each rank puts its blocks in order until 2. a1 and b1 write them until 4. a0 and b0 copy their own until 4, and the others until 6. They
// exchange four blocks until 26, put those for a1 and b1 in order until 28, write them until 30, and copy their own until 32. a1 and b1
// copy theirs until 32.
#include <vector>

#include "collectives/alltoall/two_level.hpp"
#include "collectives/intergroup/intergroup.hpp"
#include "collectives/intergroup/sides.hpp"

namespace rollcall::collectives {

Task intergroup_alltoall_two_level(Operation& op) {
    const Sides sides = sides_of(op);
    const auto others = static_cast<std::uint64_t>(sides.other.size);
    runtime::Arguments arguments = op.arguments();
    const std::uint64_t sent = arguments.contribution.size / others, received = arguments.data.size / others;
    // The blocks by the ranks of both groups.
    std::vector<runtime::Block> to(static_cast<std::size_t>(op.size()), {0, 0}), from = to;
    for (int member = 0; member < sides.other.size; ++member) {
        const auto rank = static_cast<std::size_t>(sides.other.rank(member));
        const auto place = [&](const runtime::Block* given, std::uint64_t bytes) {
            return given ? given[member] : runtime::Block{bytes * static_cast<std::uint64_t>(member), bytes};
        };
        to[rank] = place(arguments.contribution_blocks, sent);
        from[rank] = place(arguments.blocks, received);
    }
    std::vector<int> ranks;
    for (int rank = 0; rank < op.size(); ++rank) ranks.push_back(rank);
    arguments.contribution_blocks = to.data();
    arguments.blocks = from.data();
    const int own = op.rank(), first = op.first_group();
    const Operation::Among both(op, ranks, own, 0, arguments);
    const Levels levels(op);
    if (op.call().own_sizes) {
        co_await alltoall_two_level_own_sizes(op, levels);
        co_return;
    }
    const bool is_in_first = own < first;
    const SizeOfBlock size_of = [&](int source, int target) -> std::uint64_t {
        if ((source < first) == (target < first)) return 0;
        return (source < first) == is_in_first ? sent : received;
    };
    co_await alltoall_two_level_known_sizes(op, levels, size_of);
}

}  // namespace rollcall::collectives
