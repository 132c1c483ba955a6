// Pipelined chain. This reduce mirrors the pipelined broadcast of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process
// arrival patterns", section 3.3, Figure 3 (c).
//
// Idea: the ranks form a chain that ends at the root. The elements are cut into X pieces. Each rank combines a piece with its own as soon
// as it has received it, and passes the result on. Each link carries the elements once, and the time is (X + P - 2) piece times, whatever P
// is. If the operation does not commute, the chain runs down the ranks to rank 0, and from there the pieces go to the root one by one.
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

}  // namespace

Task reduce_pipelined(Operation& op) {
    const int n = op.size();
    const auto contribution = op.arguments().contribution;
    const auto data = op.arguments().data;
    const bool is_root = op.rank() == op.root();
    if (n == 1) {
        co_await copy_own(op, data, contribution);
        co_return;
    }
    const int top = op.arguments().combiner.is_commutative ? op.root() : 0;
    const int v = (op.rank() - top + n) % n;
    const int before = v + 1 < n ? (op.rank() + 1) % n : -1;
    const int after = v > 0 ? (op.rank() - 1 + n) % n : is_root ? -1 : op.root();

    const std::uint64_t asked = op.arguments().segment_bytes;
    const std::uint64_t segment = asked ? op.arguments().combiner.whole_elements(asked) : 0;
    const std::uint64_t pieces = segment_count(contribution.size, segment);
    const auto piece_of = [&](auto bytes, std::uint64_t number) {
        return pieces == 1 ? bytes : runtime::slice(bytes, number * segment, std::min(segment, bytes.size - number * segment));
    };
    // If the chain ends at rank 0 and not at the root, the root also receives the combined pieces from rank 0.
    const std::uint64_t kAcross = pieces;
    std::vector<Pending> across;
    if (is_root && v > 0)
        for (std::uint64_t number = 0; number < pieces; ++number)
            across.push_back(op.receive(top, piece_of(data, number), kAcross + number));

    const std::uint64_t window = std::min({pieces, std::uint64_t{op.pieces_under_way()}, kMostUnderWay});
    const std::uint64_t room = pieces == 1 ? contribution.size : segment;
    const Scratch memory(before >= 0 ? window * room : 0, contribution);
    std::array<Pending, kMostUnderWay> incoming, outgoing;
    const auto slot = [&](std::uint64_t number) {
        return runtime::slice(memory.bytes(), number % window * room, piece_of(contribution, number).size);
    };
    std::uint64_t posted = 0;
    for (std::uint64_t number = 0; number < pieces; ++number) {
        auto piece = piece_of(contribution, number);
        if (before >= 0) {
            for (; posted < std::min(pieces, number + window); ++posted) {
                co_await outgoing[posted % window];  // the piece that was in this slot before has left
                incoming[posted % window] = op.receive(before, slot(posted), posted);
            }
            co_await incoming[number % window];
            const transport::Bytes into = after < 0 ? piece_of(data, number) : slot(number);
            co_await op.combine(into, piece, slot(number));
            piece = into;
        }
        if (after < 0) continue;
        co_await outgoing[number % window];
        outgoing[number % window] = op.send(after, piece, (v > 0 ? 0 : kAcross) + number);
    }
    for (Pending& pending : outgoing) co_await pending;
    co_await op.all_of(across);
}

}  // namespace rollcall::collectives
