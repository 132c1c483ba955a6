// Reduce and allreduce between two groups through node memory, where all ranks of both groups are on one node. They are our own, after the
// non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process arrival patterns", section 3.1.
//
// Idea: a rank publishes its elements for those that combine them, and these combine them right there, in whatever order they come, or in
// rank order if the order matters. In a reduce the root combines, and the others leave. In an allreduce of few elements each rank combines
// those of the whole other group for itself, in rank order, so that all ranks get the same bits. If the elements are many, each rank
// combines a share of the other group's elements, and publishes the result for its own group.
//
// Example: p = 2, q = 1, a copy takes 1, and so does combining, all ranks arrive at 0. Reduce from A to b0: a0 and a1 write until 1. b0
// copies those of a0 until 2, and combines those of a1 until 3. Allreduce of few elements: b0 does the same, and a0 and a1 copy those of b0
// until 2. Of many: b0 writes one half for a0 until 0.5, and the other for a1 until 1. Each copies its half until 1.5, and writes it for
// the other until 2. They copy each other's half until 2.5.
#include <algorithm>
#include <optional>
#include <vector>

#include "collectives/combining/combining.hpp"
#include "collectives/intergroup/intergroup.hpp"
#include "collectives/intergroup/rooted.hpp"
#include "collectives/published/published.hpp"
#include "runtime/engine/among.hpp"

namespace rollcall::collectives {
namespace {

using Among = Operation::Among;

/// Where elements are combined. The operand that is the first to have certain elements is copied, and the others are combined with it.
struct Sum {
    transport::Bytes into;
    std::uint64_t begun = 0;  ///< Up to here, in bytes, elements of an operand are there.
};

/// `piece`: elements of an operand, from byte `offset` on. All before them have been added.
Task add(Operation& op, Sum& sum, transport::ConstBytes piece, std::uint64_t offset) {
    const std::uint64_t combined = std::min(sum.begun - offset, piece.size), copied = piece.size - combined;
    if (combined > 0) {
        const transport::Bytes part = runtime::slice(sum.into, offset, combined);
        co_await op.combine(part, part, runtime::slice(piece, 0, combined));
    }
    if (copied > 0) co_await op.copy(runtime::slice(sum.into, sum.begun, copied), runtime::slice(piece, combined, copied));
    sum.begun += copied;
}

Task add_what_is_here(Operation& op, Sum& sum, Reading& operand) {
    while (operand.is_here()) {
        const bool by_message = operand.by_message();
        if (!by_message) co_await add(op, sum, operand.bytes(), operand.offset());
        if (!operand.let_go()) co_await op.failure();
        if (!by_message) continue;
        const Scratch received(sum.into.size, sum.into);
        co_await op.receive(operand.from(), received.bytes(), kPublishedStep);
        co_await add(op, sum, received.bytes(), 0);
    }
}

/// Publishes `outgoing`, and combines what the ranks from 1 on publish, for this one or for everybody, into `into`. This rank is rank 0 and
/// brings nothing.
Task combine_what_others_bring(Operation& op, Uses<Outgoing>& outgoing, bool for_everybody, transport::Bytes into) {
    // Where all ranks of a group combine the same elements, the order must not depend on what each of them sees first.
    const bool any_order = op.arguments().combiner.any_order && !for_everybody;
    Uses<Reading> operands(op.size() - 1);
    for (int rank = 1; rank < op.size(); ++rank) operands.add(op, rank, for_everybody, into.size);
    std::vector<Pending> sends;
    Sum sum{into};
    int added = 0;
    Outgoing* has_room = nullptr;
    Reading* operand = nullptr;
    const auto is_next = [&](const Reading& one) { return any_order || one.from() == added + 1; };
    const auto has_left = [](const Outgoing& out) { return out.has_left(); };
    while (added < operands.size() || !std::all_of(outgoing.begin(), outgoing.end(), has_left)) {
        // All waits are in one place, so that no rank occupies room in the memory that another rank needs in order to go on.
        co_await op.until([&] {
            has_room = find_ready(outgoing);
            operand = find_ready(operands, is_next);
            return has_room || operand;
        });
        if (has_room) co_await go_on(op, *has_room, sends);
        if (!operand) continue;
        co_await add_what_is_here(op, sum, *operand);
        if (operand->complete()) ++added;
    }
    co_await op.all_of(sends);
}

/// As combine_what_others_bring() for everybody, in rank order, for elements that suit a ShortExchange.
Task exchange_short_and_combine(Operation& op, transport::Bytes into) {
    ShortExchange exchange(op, ShortExchange::Flow::among_all, true, into.size);
    exchange.begin();
    co_await op.until([&] { return exchange.next_room(); });
    co_await exchange.write(op.arguments().contribution);
    exchange.publish();
    exchange.tell();
    for (int rank = 1; rank < op.size(); ++rank) {
        co_await op.until([&] {
            const bool is_here = exchange.is_here(rank);
            if (!is_here) exchange.tell();
            return is_here;
        });
        if (rank == 1)
            co_await exchange.read(into);
        else
            co_await op.combine(into, into, exchange.bytes());
        if (!exchange.let_go()) co_await op.failure();
    }
}

/// Each rank combines its share of the elements of the other group, which that group cuts into as many shares as this one has ranks.
Task combine_shares(Operation& op, const Sides& sides, const runtime::Arguments& arguments) {
    const auto share = [&](auto all, int member, const Members& group) { return part_of(all, share_of(op, member, group.size)); };
    const transport::Bytes own = share(arguments.data, sides.member, sides.own);
    {
        const std::vector<int> ranks = with_group(op.rank(), sides.other);
        const Among between(op, ranks, 0, 0, arguments);
        Uses<Outgoing> outgoing(sides.other.size);
        for (int member = 0; member < sides.other.size; ++member)
            outgoing.add(op, member + 1, share(arguments.contribution, member, sides.other), Publisher::reads);
        co_await combine_what_others_bring(op, outgoing, false, own);
    }
    std::vector<int> ranks;
    std::vector<runtime::Block> blocks;
    for (int member = 0; member < sides.own.size; ++member) {
        const Share its = share_of(op, member, sides.own.size);
        ranks.push_back(sides.own.rank(member));
        blocks.push_back({its.begin, its.size()});
    }
    runtime::Arguments results = arguments;
    results.contribution = own;
    results.blocks = blocks.data();
    const Among group(op, ranks, sides.member, 0, results, kPublishedStep + 1);
    co_await publish_and_copy(op, true, &same_for_all);
}

}  // namespace

Task intergroup_reduce_shared_memory(Operation& op) {
    const RootedPart part(op);
    if (!part.takes_part()) co_return;
    const std::vector<int> ranks = with_group(op.root(), part.others);
    const Among node(op, ranks, part.is_root ? 0 : part.sides.member + 1, 0, op.arguments());
    Uses<Outgoing> nothing(0);
    if (part.is_root)
        co_await combine_what_others_bring(op, nothing, false, op.arguments().data);
    else
        co_await publish_last(op, 0, op.arguments().contribution);
}

Task intergroup_allreduce_shared_memory(Operation& op) {
    const Sides sides = sides_of(op);
    runtime::Arguments arguments = op.arguments();
    // The result is written while the contribution is read.
    std::optional<Scratch> beside;
    if (arguments.contribution.data && arguments.contribution.data == arguments.data.data) {
        beside.emplace(arguments.contribution.size, arguments.contribution);
        co_await op.copy(beside->bytes(), arguments.contribution);
        arguments.contribution = beside->bytes();
    }
    if (arguments.data.size > kReadByAll) {
        co_await combine_shares(op, sides, arguments);
        co_return;
    }
    const std::vector<int> ranks = with_group(op.rank(), sides.other);
    const Among node(op, ranks, 0, 0, arguments);
    if (ShortExchange::suits(op.size(), arguments.data.size)) {
        co_await exchange_short_and_combine(op, arguments.data);
        co_return;
    }
    Uses<Outgoing> outgoing(1);
    outgoing.add(op, kEverybody, arguments.contribution, Publisher::reads);
    co_await combine_what_others_bring(op, outgoing, true, arguments.data);
}

}  // namespace rollcall::collectives
