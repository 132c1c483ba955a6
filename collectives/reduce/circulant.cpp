// Circulant reduce. J. L. Träff, "Optimal broadcast schedules in logarithmic time with applications to broadcast, all-broadcast, reduction
// and all-reduction", arXiv 2407.18004.
//
// Idea: this is the circulant broadcast, run backwards. The elements are cut into X pieces. Each rank receives a piece from the ranks to
// which the broadcast would send it, combines it with its own, and sends the result where the broadcast would get the piece from. The root
// has all pieces after X - 1 + ceil(log2 n) rounds, where a chain takes X + n - 2. The order in which a piece is combined is that of the
// schedule, and not rank order. As in the broadcast, a rank begins a round when it has ended the one before.
//
// Example: the rounds of collectives/schedules/circulant.hpp, backwards: n = 5, root 0, elements of 3 in X = 3 pieces. 3->0 {2}, 4->1 {2},
// 1->3 {0}, 2->4 {1} until 1. 2->0 {2}, 4->2 {0}, 1->4 {1} until 2. 1->0 {2}, 3->2 {0}, 4->3 {1} until 3. 3->0 {1} until 4, 2->0 {0}
// until 5.
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/combining/combining.hpp"
#include "collectives/pieces.hpp"
#include "collectives/reduce/reduce.hpp"
#include "collectives/schedules/circulant.hpp"

namespace rollcall::collectives {

Task reduce_circulant(Operation& op) {
    const int n = op.size();
    const auto contribution = op.arguments().contribution;
    if (n == 1) {
        co_await copy_own(op, op.arguments().data, contribution);
        co_return;
    }
    const Pieces pieces(op, contribution.size, whole_segment(op.arguments().combiner, op.arguments().segment_bytes));
    const auto rank_at = [&](int distance) { return static_cast<int>((static_cast<long long>(op.root()) + distance) % n); };
    std::optional<Scratch> memory;
    const auto sum = op.rank() == op.root() ? op.arguments().data : memory.emplace(contribution.size, contribution).bytes();
    const Scratch room(pieces.of(sum, 0).size, contribution);  // for the piece that comes
    std::vector<bool> is_in_sum(pieces.count());               // If not, what this rank brings is all there is of the piece.
    const auto combined = [&](std::uint64_t piece) {
        return is_in_sum[piece] ? transport::ConstBytes(pieces.of(sum, piece)) : pieces.of(contribution, piece);
    };
    const Circulant part((op.rank() - op.root() + n) % n, n);
    const std::uint64_t rounds = part.rounds(pieces.count());
    for (std::uint64_t number = 0; number < rounds; ++number) {
        const Circulant::Round round = part.round(pieces.count(), rounds - 1 - number);
        const bool receives = round.to >= 0;
        const auto into = receives ? pieces.of(sum, round.sends) : transport::Bytes();
        const auto come = runtime::slice(room.bytes(), 0, into.size);
        Pending receiving, sending;
        if (receives) receiving = op.receive(rank_at(round.to), come, number);
        if (round.from >= 0) sending = op.send_awaited(rank_at(round.from), combined(round.receives), number);
        co_await receiving;
        if (receives) {
            co_await op.combine(into, combined(round.sends), come);
            is_in_sum[round.sends] = true;
        }
        co_await sending;
    }
}

}  // namespace rollcall::collectives
