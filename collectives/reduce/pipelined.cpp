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
#include "collectives/reduce/reduce.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives {
namespace {

constexpr std::uint64_t kMostUnderWay = 4;

/// This rank's place in the chain, and the pieces.
struct Chain {
    explicit Chain(const Operation& op)
        : size(op.arguments().contribution.size),
          segment(op.arguments().segment_bytes ? op.arguments().combiner.whole_elements(op.arguments().segment_bytes) : 0),
          pieces(segment_count(size, segment)),
          window(std::min({pieces, std::uint64_t{op.pieces_under_way()}, kMostUnderWay})) {
        const int n = op.size(), top = op.arguments().combiner.is_commutative ? op.root() : 0, place = (op.rank() - top + n) % n;
        is_at_top = place == 0;
        before = place + 1 < n ? (op.rank() + 1) % n : -1;
        if (!is_at_top)
            after = (op.rank() - 1 + n) % n;
        else if (op.rank() != op.root())
            after = op.root();
    }
    template <class Bytes>
    Bytes piece_of(Bytes bytes, std::uint64_t number) const {
        return pieces == 1 ? bytes : runtime::slice(bytes, number * segment, std::min(segment, bytes.size - number * segment));
    }
    /// The step of a piece on its way to the next rank. If the chain ends at rank 0 and not at the root, the root receives pieces from two
    /// ranks.
    std::uint64_t step_to_next(std::uint64_t number) const { return is_at_top ? step_across(number) : number; }
    std::uint64_t step_across(std::uint64_t number) const { return pieces + number; }

    std::uint64_t size, segment, pieces, window;
    bool is_at_top = false;
    int before = -1, after = -1;  ///< -1: there is none.
};

// The part of a rank whose caller has not come.
Task collect_before_caller(Operation& op, const Chain& chain) {
    const auto contribution = op.arguments().contribution;
    const auto combined = runtime::slice(op.arguments().data, 0, contribution.size);
    std::vector<Pending> incoming;
    std::array<Pending, kMostUnderWay> outgoing;
    for (std::uint64_t number = 0; number < chain.pieces; ++number)
        incoming.push_back(op.receive(chain.before, chain.piece_of(combined, number), number));
    co_await op.arrival();
    for (std::uint64_t number = 0; number < chain.pieces; ++number) {
        const auto piece = chain.piece_of(combined, number);
        co_await incoming[number];
        co_await op.combine(piece, chain.piece_of(contribution, number), piece);
        co_await outgoing[number % chain.window];
        outgoing[number % chain.window] = op.send(chain.after, piece, chain.step_to_next(number));
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
    if (!op.has_arrived()) {
        co_await collect_before_caller(op, chain);
        co_return;
    }
    std::vector<Pending> across;
    if (op.rank() == op.root() && !chain.is_at_top)
        for (std::uint64_t number = 0; number < chain.pieces; ++number)
            across.push_back(op.receive(0, chain.piece_of(data, number), chain.step_across(number)));

    const std::uint64_t room = chain.pieces == 1 ? contribution.size : chain.segment;
    const Scratch memory(chain.before >= 0 ? chain.window * room : 0, contribution);
    std::array<Pending, kMostUnderWay> incoming, outgoing;
    const auto slot = [&](std::uint64_t number) {
        return runtime::slice(memory.bytes(), number % chain.window * room, chain.piece_of(contribution, number).size);
    };
    std::uint64_t posted = 0;
    for (std::uint64_t number = 0; number < chain.pieces; ++number) {
        auto piece = chain.piece_of(contribution, number);
        if (chain.before >= 0) {
            for (; posted < std::min(chain.pieces, number + chain.window); ++posted) {
                co_await outgoing[posted % chain.window];  // the piece that was in this slot before has left
                incoming[posted % chain.window] = op.receive(chain.before, slot(posted), posted);
            }
            co_await incoming[number % chain.window];
            const transport::Bytes into = chain.after < 0 ? chain.piece_of(data, number) : slot(number);
            co_await op.combine(into, piece, slot(number));
            piece = into;
        }
        if (chain.after < 0) continue;
        co_await outgoing[number % chain.window];
        outgoing[number % chain.window] = op.send(chain.after, piece, chain.step_to_next(number));
    }
    co_await op.all_of(outgoing);
    co_await op.all_of(across);
}

std::uint64_t reduce_pipelined_collects(std::uint64_t bytes, int root, int rank, int ranks) {
    return (rank - root + ranks) % ranks == ranks - 1 ? 0 : bytes;
}

}  // namespace rollcall::collectives
