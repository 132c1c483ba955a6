// Allreduce through node memory. It is our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across
// different process arrival patterns", section 3.1.
//
// Idea: if the elements are few, each rank writes them into memory that the ranks of the node share, and combines those of all ranks for
// itself, in rank order, right there. If they are many, they are cut into a share for each rank. Each rank writes, for each other rank, its
// elements of that rank's share. It combines its own share, in whatever order the others come, or in rank order if the order matters, and
// writes the result for all. A byte is copied in once, combined once and copied out once, and all ranks do an equal part of this work. If
// the elements are in memory that the program has taken from the runtime (Job::allocate()), they are combined where they stand. No rank
// waits for that: when it has the results of all ranks, these have read what they need. Between two ranks everything has one reader, which
// copies long data straight from the other rank's memory: a byte is then copied twice less.
//
// Example: n = 2, elements (1 2 3 4) and (5 6 7 8). Rank 0 writes (3 4) for 1, and 1 writes (5 6) for 0. Rank 0 combines (6 8) and writes
// them for all; rank 1 does so with (10 12). Each copies the other's result out.
#include <utility>

#include "collectives/allreduce/allreduce.hpp"
#include "collectives/combining/combining.hpp"
#include "collectives/published/published.hpp"
#include "collectives/published/published_parts.hpp"

namespace rollcall::collectives {
namespace {

Task combine_all(Operation& op) {
    PublishedMessages messages;
    co_await publish_first(op, kEverybody, op.arguments().contribution, Publisher::reads, messages);
    co_await combine_in_rank_order(op, true);
    co_await op.all_of(messages.sends);
}

Task combine_shares(Operation& op) {
    const auto& arguments = op.arguments();
    const auto part = [&](auto all, int rank) { return part_of(all, share_of(op, rank)); };
    PublishedParts parts{.brought = [&](int rank) { return part(arguments.contribution, rank); },
                         .own = part(arguments.data, op.rank()),
                         .others = [&](int rank) { return part(arguments.data, rank); },
                         .in_place = InPlace::anywhere};
    co_await combine_published_parts(op, std::move(parts));
}

}  // namespace

Task allreduce_shared_memory(Operation& op) {
    if (op.size() == 1) return combine_in_rank_order(op, true);
    const std::uint64_t size = op.arguments().data.size;
    if (ShortExchange::suits(op.size(), size)) return exchange_and_combine(op);
    return size <= kReadByAll ? combine_all(op) : combine_shares(op);
}

ShortMove short_move_of_allreduce(const runtime::Arguments& arguments, const runtime::Call&, int rank, int ranks) {
    if (ranks != 2) return {};
    return {.does = ShortMove::Does::exchange,
            .for_everybody = true,
            .partner = 1 - rank,
            .data = arguments.contribution,
            .place = arguments.data,
            .own = arguments.contribution,
            .combiner = &arguments.combiner};
}

}  // namespace rollcall::collectives
