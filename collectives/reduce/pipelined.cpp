// Pipelined chain. This reduce mirrors the pipelined broadcast of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process
// arrival patterns", section 3.3, Figure 3 (c).
//
// Idea: the ranks form a chain that ends at the root. The elements are cut into X pieces. Each rank combines a piece with its own as soon
// as it has received it, and passes the result on. Each link carries the elements once, and the time is (X + P - 2) piece times, whatever P
// is. If the operation does not commute, the chain runs down the ranks to rank 0, and from there the pieces go to the root one by one. The
// part of a rank whose caller has not come takes the pieces of the rank before it into memory that becomes its result.
//
// Example: P = 4, root 0, X = 3 pieces that take 1 each, all ranks arrive at 0. Rank 3 sends its pieces until 1, 2, 3; rank 2 sends c + d
// until 2, 3, 4; rank 1 sends b + c + d until 3, 4, 5 = X + P - 2.
#include <algorithm>
#include <array>
#include <vector>

#include "collectives/combining/combining.hpp"
#include "collectives/pieces.hpp"
#include "collectives/reduce/reduce.hpp"

namespace rollcall::collectives {
namespace {

/// This rank's place in the chain, and the pieces.
struct Chain {
    explicit Chain(const Operation& op)
        : pieces(op, op.arguments().contribution.size,
                 op.arguments().segment_bytes ? op.arguments().combiner.whole_elements(op.arguments().segment_bytes) : 0) {
        const int n = op.size(), top = op.arguments().combiner.is_commutative ? op.root() : 0, place = (op.rank() - top + n) % n;
        is_at_top = place == 0;
        before = place + 1 < n ? (op.rank() + 1) % n : -1;
        if (!is_at_top)
            after = (op.rank() - 1 + n) % n;
        else if (op.rank() != op.root())
            after = op.root();
    }
    /// The step of a piece on its way to the next rank. If the chain ends at rank 0 and not at the root, the root receives pieces from two
    /// ranks.
    std::uint64_t step_to_next(std::uint64_t number) const { return is_at_top ? step_across(number) : number; }
    std::uint64_t step_across(std::uint64_t number) const { return pieces.count() + number; }

    Pieces pieces;
    bool is_at_top = false;
    int before = -1, after = -1;  ///< -1: there is none.
};

// The part of a rank whose caller has not come.
Task collect_before_caller(Operation& op, const Chain& chain) {
    const Pieces& pieces = chain.pieces;
    const auto contribution = op.arguments().contribution;
    const auto combined = runtime::slice(op.arguments().data, 0, contribution.size);
    std::vector<Pending> incoming;
    std::array<Pending, Pieces::kMostAtOnce> outgoing;
    for (std::uint64_t number = 0; number < pieces.count(); ++number)
        incoming.push_back(op.receive(chain.before, pieces.of(combined, number), number));
    co_await op.arrival();
    for (std::uint64_t number = 0; number < pieces.count(); ++number) {
        const auto piece = pieces.of(combined, number);
        co_await incoming[number];
        co_await op.combine(piece, pieces.of(contribution, number), piece);
        co_await outgoing[pieces.at(number)];
        outgoing[pieces.at(number)] = op.send(chain.after, piece, chain.step_to_next(number));
    }
    co_await op.all_of(outgoing);
}

}  // namespace

Task reduce_pipelined(Operation& op) {
    const auto contribution = op.arguments().contribution;
    const auto data = op.arguments().data;
    if (op.size() == 1) {
        co_await copy_own(op, data, contribution);
        co_return;
    }
    const Chain chain(op);
    const Pieces& pieces = chain.pieces;
    if (!op.has_arrived()) {
        co_await collect_before_caller(op, chain);
        co_return;
    }
    std::vector<Pending> across;
    if (op.rank() == op.root() && !chain.is_at_top)
        for (std::uint64_t number = 0; number < pieces.count(); ++number)
            across.push_back(op.receive(0, pieces.of(data, number), chain.step_across(number)));

    const std::uint64_t room = chain.before >= 0 ? pieces.room() : 0;
    const bool has_room = op.rank() != op.root() && data.size >= room;  // without a caller, there is memory for it
    const Scratch scratch(has_room ? 0 : room, contribution);
    const auto memory = has_room ? data : scratch.bytes();
    std::array<Pending, Pieces::kMostAtOnce> incoming, outgoing;
    const auto slot = [&](std::uint64_t number) { return pieces.slot(memory, number); };
    std::uint64_t posted = 0;
    for (std::uint64_t number = 0; number < pieces.count(); ++number) {
        auto piece = pieces.of(contribution, number);
        if (chain.before >= 0) {
            for (; posted < std::min(pieces.count(), number + pieces.window()); ++posted) {
                co_await outgoing[pieces.at(posted)];  // the piece that was in this slot before has left
                incoming[pieces.at(posted)] = op.receive(chain.before, slot(posted), posted);
            }
            co_await incoming[pieces.at(number)];
            const transport::Bytes into = chain.after < 0 ? pieces.of(data, number) : slot(number);
            co_await op.combine(into, piece, slot(number));
            piece = into;
        }
        if (chain.after < 0) continue;
        co_await outgoing[pieces.at(number)];
        outgoing[pieces.at(number)] = op.send(chain.after, piece, chain.step_to_next(number));
    }
    co_await op.all_of(outgoing);
    co_await op.all_of(across);
}

std::uint64_t reduce_pipelined_collects(std::uint64_t bytes, int root, int rank, int ranks) {
    return (rank - root + ranks) % ranks == ranks - 1 ? 0 : bytes;
}

}  // namespace rollcall::collectives
