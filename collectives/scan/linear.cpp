// Linear scan, in pieces. It is the simplest algorithm; P. Sanders and J. L. Traeff, "Parallel prefix (scan) algorithms for MPI",
// EuroPVM/MPI 2006, compare others with it.
//
// Idea: the ranks form a chain. Each rank combines what comes from the rank before it with its own elements, and passes the result on. The
// elements are cut into X pieces, so that all links of the chain are busy at the same time. It takes X + P - 2 piece times, and each rank
// combines once (in an exclusive scan the last rank does not combine at all). The elements are combined in rank order.
//
// Example: P = 4, X = 3 pieces that take 1 each, all ranks arrive at 0. 0->1 until 1, 2, 3; 1->2 until 2, 3, 4; 2->3 until 3, 4, 5 = X + P
// - 2.
#include <algorithm>
#include <array>

#include "collectives/combining/combining.hpp"
#include "collectives/pieces.hpp"
#include "collectives/scan/scan.hpp"

namespace rollcall::collectives {
namespace {

using transport::Bytes;
using transport::ConstBytes;

}  // namespace

Task scan_linear(Operation& op) {
    const int rank = op.rank();
    const auto contribution = op.arguments().contribution;
    const auto data = op.arguments().data;
    const bool is_first = rank == 0, is_last = rank + 1 == op.size(), exclusive = is_exclusive(op);
    const Pieces pieces(op, contribution.size, whole_segment(op.arguments().combiner, op.arguments().segment_bytes));
    // In an exclusive scan, what comes is the result. But it must not be written over elements that are still to be combined with it.
    const bool comes_aside = !exclusive || is_in_place(op);
    const Scratch aside(!is_first && comes_aside ? pieces.room() : 0, contribution);
    const Scratch sums(!is_first && !is_last && exclusive ? pieces.room() : 0, contribution);
    const auto come = [&](std::uint64_t number) { return comes_aside ? pieces.slot(aside.bytes(), number) : pieces.of(data, number); };

    std::array<Pending, Pieces::kMostAtOnce> incoming, outgoing;
    std::uint64_t posted = 0;
    for (std::uint64_t number = 0; number < pieces.count(); ++number) {
        const ConstBytes own = pieces.of(contribution, number);
        const Bytes result = pieces.of(data, number);
        ConstBytes prefix = own;
        Pending& leaving = outgoing[pieces.at(number)];
        if (!is_first) {
            for (; posted < std::min(pieces.count(), number + pieces.window()); ++posted)
                incoming[pieces.at(posted)] = op.receive(rank - 1, come(posted), posted);
            co_await incoming[pieces.at(number)];
            if (!exclusive || !is_last) {
                co_await leaving;  // the piece that was in the same memory before
                const Bytes sum = exclusive ? pieces.slot(sums.bytes(), number) : result;
                co_await op.combine(sum, come(number), own);
                prefix = sum;
            }
        }
        if (!is_last) {
            co_await leaving;
            leaving = op.send(rank + 1, prefix, number);
        }
        if (is_first && !exclusive) co_await copy_own(op, result, own);
        if (!is_first && exclusive && comes_aside) co_await op.copy(result, come(number));
    }
    for (Pending& pending : outgoing) co_await pending;
}

}  // namespace rollcall::collectives
