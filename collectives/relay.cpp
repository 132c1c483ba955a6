#include "collectives/relay.hpp"

#include <array>
#include <utility>

#include "collectives/trees/binomial.hpp"

namespace rollcall::collectives {
namespace {
constexpr std::uint64_t kMostInFlight = 4;
}  // namespace

Task relay(Operation& op, transport::Bytes data, int from, std::vector<int> to, std::uint64_t segment, std::uint64_t step) {
    const std::uint64_t pieces = segment_count(data.size, segment);
    const auto piece = [&](std::uint64_t number) { return segment_at(data, segment, pieces, number); };
    const std::uint64_t window = std::min({pieces, std::uint64_t{op.pieces_under_way()}, kMostInFlight});
    std::array<Pending, kMostInFlight> incoming;
    // A whole message goes to one child after the other.
    std::vector<Pending> outgoing(pieces == 1 ? 1 : window * to.size());
    std::uint64_t posted = 0, sent = 0;
    for (std::uint64_t number = 0; number < pieces; ++number) {
        if (from >= 0) {
            for (; posted < std::min(pieces, number + window); ++posted)
                incoming[posted % window] = op.receive(from, piece(posted), step + posted);
            co_await incoming[number % window];
        }
        for (const int child : to) {
            Pending& oldest = outgoing[sent++ % outgoing.size()];
            co_await oldest;
            oldest = op.send(child, piece(number), step + number);
        }
    }
    for (Pending& pending : outgoing) co_await pending;
}

Task broadcast_to(Operation& op, int root, const Members& others, transport::Bytes data, std::uint64_t step) {
    const int n = others.size + 1;
    const auto rank_of = [&](int number) { return number == 0 ? root : others.rank(number - 1); };
    const int number = op.rank() == root ? 0 : op.rank() - others.first + 1;
    TreePlace place;
    std::uint64_t piece = 0;
    if (data.size <= kShortBroadcast) {
        place = binomial_tree(n, 0, number);
    } else {
        place.parent = number - 1;
        if (number + 1 < n) place.children.push_back(number + 1);
        // Each piece takes one step, and so does each rank after the first two.
        piece = std::clamp<std::uint64_t>(data.size / (16 * static_cast<std::uint64_t>(n)), 4096, 128 << 10);
    }
    for (int& child : place.children) child = rank_of(child);
    co_await relay(op, data, place.parent < 0 ? -1 : rank_of(place.parent), std::move(place.children), piece, step);
}

}  // namespace rollcall::collectives
