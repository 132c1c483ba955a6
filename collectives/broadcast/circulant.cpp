// Circulant broadcast. J. L. Träff, "Optimal broadcast schedules in logarithmic time with applications to broadcast, all-broadcast,
// reduction and all-reduction", arXiv 2407.18004.
//
// Idea: the message is cut into X pieces. In each round, every rank sends one piece and receives another one. The rounds use different
// distances between ranks, so that every piece spreads like in a binomial tree while the pieces follow one another like in a chain. All
// ranks have all pieces after X - 1 + ceil(log2 n) rounds, which is the best possible; a chain takes X + n - 2. Messages of
// several rounds must not share a port, or a rank waits for two messages in each round. So a rank begins a round when it has ended the
// round before, and a message does not come before its receiver's round. All ranks depend on each other, so one late rank stops most
// others, unless its part begins before its caller.
//
// Example: collectives/schedules/circulant.hpp, 5 ranks and 3 pieces. The ranks leave after 5 rounds; in a chain, after 6.
#include "collectives/schedules/circulant.hpp"
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/pieces.hpp"

namespace rollcall::collectives {

Task broadcast_circulant(Operation& op) {
    const int n = op.size();
    const auto data = op.arguments().data;
    const Pieces pieces(op, data.size, op.arguments().segment_bytes);
    const auto rank_at = [&](int distance) { return static_cast<int>((static_cast<long long>(op.root()) + distance) % n); };
    const Circulant part((op.rank() - op.root() + n) % n, n);
    for (std::uint64_t number = 0; number < part.rounds(pieces.count()); ++number) {
        const Circulant::Round round = part.round(pieces.count(), number);
        Pending receiving, sending;
        if (round.from >= 0) receiving = op.receive(rank_at(round.from), pieces.of(data, round.receives), number);
        if (round.to >= 0) sending = op.send_awaited(rank_at(round.to), pieces.of(data, round.sends), number);
        co_await receiving;
        co_await sending;
    }
}

}  // namespace rollcall::collectives
