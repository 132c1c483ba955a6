// Reduce_scatter through node memory. It is our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across
// different process arrival patterns", section 3.1.
//
// Idea: each rank writes, for each other rank, its elements of that rank's block. It combines its own block right where the others have
// written it, in whatever order they come, or in rank order if the order matters. A byte is copied in once and combined once. If the
// elements are few, a rank writes them once for all ranks, and each rank combines what is for it, in rank order.
//
// Example: n = 3, long blocks, a block takes 1 to copy or to combine, all ranks arrive at 0. Each rank copies its own block until 1, writes
// those of the two others until 3, and combines what they wrote for it until 5. Short blocks: each rank writes all three until 3, and
// copies or combines three until 6.
#include <optional>
#include <utility>

#include "collectives/published/published.hpp"
#include "collectives/published/published_parts.hpp"
#include "collectives/reduce_scatter/reduce_scatter.hpp"

namespace rollcall::collectives {
namespace {

Task combine_own_block(Operation& op) {
    const int n = op.size(), rank = op.rank();
    const auto contribution = op.arguments().contribution;
    const auto data = op.arguments().data;
    const auto mine = brought_for(op, rank);
    PublishedMessages messages;
    co_await publish_first(op, kEverybody, contribution, Publisher::reads, messages);
    // If this rank's block is in the place of the result, and the blocks of other ranks come before it, the sum is formed in memory of its
    // own.
    const Scratch aside(rank > 0 && mine.data == data.data ? data.size : 0, data);
    const transport::Bytes sum = aside.bytes().size > 0 ? aside.bytes() : data;
    for (int from = 0; from < n; ++from) {
        const transport::Bytes into = from + 1 < n ? sum : data;
        std::optional<Reading> reading;
        std::optional<Scratch> received;
        transport::ConstBytes all = contribution;
        if (from != rank) {
            reading.emplace(op, from, true, contribution.size);
            co_await op.until([&] { return reading->is_here(); });
            all = reading->bytes();
            if (reading->by_message()) {
                if (!reading->let_go()) co_await op.failure();
                received.emplace(contribution.size, contribution);
                co_await op.receive(from, received->bytes(), kPublishedStep);
                all = received->bytes();
            }
        }
        const auto operand = runtime::slice(all, static_cast<std::uint64_t>(rank) * data.size, data.size);
        if (from == 0)
            co_await copy_own(op, into, operand);
        else
            co_await op.combine(into, sum, operand);
        if (reading && !received && !reading->let_go()) co_await op.failure();
    }
    co_await op.all_of(messages.sends);
}

}  // namespace

Task reduce_scatter_shared_memory(Operation& op) {
    const auto& arguments = op.arguments();
    if (op.size() == 1) {
        co_await copy_own(op, arguments.data, arguments.contribution);
    } else if (arguments.contribution.size <= kReadByAll) {
        co_await combine_own_block(op);
    } else {
        PublishedParts parts{
            .brought = [&](int rank) { return brought_for(op, rank); }, .own = arguments.data, .in_place = InPlace::anywhere};
        co_await combine_published_parts(op, std::move(parts));
    }
}

}  // namespace rollcall::collectives
