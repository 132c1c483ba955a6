#include "collectives/relay.hpp"

#include <array>

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

}  // namespace rollcall::collectives
