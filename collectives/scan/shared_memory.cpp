// Scan through node memory. It is our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different
// process arrival patterns", section 3.1.
//
// Idea: if the elements are few, each rank writes them, for the ranks after it, into memory that the ranks of the node share. It combines
// what the ranks before it have written, in rank order, so no rank waits for a rank that forwards. If the elements are many, they go down
// the chain of ranks in pieces. Each rank combines what the rank before it has written with its own elements, right there, and writes the
// result for the next rank. So each rank combines once.
//
// Example: n = 3, few elements, a copy or a combination takes 1, all ranks arrive at 0. Ranks 0 and 1 write until 1. Rank 0 has its own
// elements then and copies them until 2. Rank 1 copies a until 2 and combines it with b until 3. Rank 2 copies a until 2, combines it with
// b until 3, and with c until 4.
#include <algorithm>
#include <optional>

#include "collectives/combining/combining.hpp"
#include "collectives/published/published.hpp"
#include "collectives/scan/scan.hpp"

namespace rollcall::collectives {
namespace {

using transport::Bytes;
using transport::ConstBytes;

Task combine_those_before(Operation& op) {
    const int rank = op.rank();
    const auto contribution = op.arguments().contribution;
    const auto data = op.arguments().data;
    PublishedMessages messages;
    if (rank + 1 < op.size()) co_await publish_first(op, kHigherRanks, contribution, Publisher::leaves, messages);
    if (rank == 0) {
        if (!is_exclusive(op)) co_await copy_own(op, data, contribution);
        co_await op.all_of(messages.sends);
        co_return;
    }
    // If this rank's elements are in the place of the result, the sum is formed in memory of its own.
    const Scratch aside(!is_exclusive(op) && is_in_place(op) ? data.size : 0, data);
    const Bytes sum = is_exclusive(op) || !is_in_place(op) ? data : aside.bytes();
    for (int before = 0; before < rank; ++before) {
        Reading reading(op, before, true, data.size);
        while (!reading.complete()) {
            co_await op.until([&] { return reading.is_here(); });
            if (before == 0)
                co_await copy_what_is_here(op, reading, sum);
            else
                co_await combine_what_is_here(op, reading, sum, sum);
        }
    }
    if (!is_exclusive(op)) co_await op.combine(data, sum, contribution);
    co_await op.all_of(messages.sends);
}

/// `come` is what came from the ranks before, and `own` is of this rank. Puts into `sum` what the next rank gets, and into `result` what
/// this rank gets.
Task take(Operation& op, ConstBytes come, ConstBytes own, Bytes sum, Bytes result) {
    if (!is_exclusive(op) || op.rank() + 1 < op.size()) co_await op.combine(sum, come, own);
    if (is_exclusive(op)) co_await op.copy(result, come);
}

/// This rank's part in the chain. All waits are in one place, so that no rank keeps room in the shared memory that another rank needs to go
/// on.
Task pass_along(Operation& op) {
    const int rank = op.rank();
    const auto contribution = op.arguments().contribution;
    const auto data = op.arguments().data;
    const std::uint64_t size = data.size;
    const bool exclusive = is_exclusive(op), is_first = rank == 0, is_last = rank + 1 == op.size();
    const Scratch memory(exclusive && !is_first && !is_last ? size : 0, contribution);
    // What is passed on. (Rank 0 passes on its own elements.)
    const Bytes sum = exclusive ? memory.bytes() : data;
    std::optional<Reading> in;
    std::optional<Publication> out;
    if (!is_first) in.emplace(op, rank - 1, false, size);
    if (!is_last) out.emplace(op, rank + 1, size);
    const auto piece_of = [&](auto all, ConstBytes come) { return runtime::slice(all, in->offset(), come.size); };
    const ConstBytes passed_on = is_first ? contribution : ConstBytes(sum);
    Pending message;
    std::uint64_t ready = in ? 0 : size;  // bytes of it
    bool has_room = false;
    const std::uint64_t piece = size > runtime::kPieceOfNode ? runtime::piece_of_node(op) : size;
    const auto can_go_on = [&] {
        const auto is_ready = [&] { return ready >= (out->by_message() ? size : std::min(size, out->offset() + piece)); };
        // (There may be no room for the first piece, and a message has them all.)
        has_room = out && !out->complete() && is_ready() && out->has_room() && is_ready();
        return has_room || (in && !in->complete() && in->is_here());
    };
    while ((in && !in->complete()) || (out && !out->complete())) {
        co_await op.until(can_go_on);
        if (has_room) {
            if (out->by_message())
                message = op.send(rank + 1, passed_on, kPublishedStep);
            else
                co_await op.copy(out->room(), out->next_of(passed_on));
            out->publish();
        }
        if (!in || in->complete() || !in->is_here()) continue;
        const bool by_message = in->by_message();
        const ConstBytes come = in->bytes();
        if (!by_message) co_await take(op, come, piece_of(contribution, come), piece_of(sum, come), piece_of(data, come));
        if (!in->let_go()) co_await op.failure();
        if (by_message) {
            const Scratch received(size, contribution);
            co_await op.receive(rank - 1, received.bytes(), kPublishedStep);
            co_await take(op, received.bytes(), contribution, sum, data);
        }
        ready = in->offset();
    }
    co_await message;
    if (is_first && !exclusive) co_await copy_own(op, data, contribution);
}

}  // namespace

Task scan_shared_memory(Operation& op) {
    if (op.arguments().data.size <= kReadByAll)
        co_await combine_those_before(op);
    else
        co_await pass_along(op);
}

}  // namespace rollcall::collectives
