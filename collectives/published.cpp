#include "collectives/published.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include "collectives/combining.hpp"

namespace rollcall::collectives {
namespace {

/// What finds no room goes by messages.
void send_to_readers(Operation& op, int to, transport::ConstBytes data, std::uint64_t step, std::vector<Pending>& sends) {
    for (int i = 1; i < op.size(); ++i) {
        const int reader = (op.rank() + i) % op.size();
        if (to == kEverybody || to == reader || (to == kHigherRanks && reader > op.rank())) sends.push_back(op.send(reader, data, step));
    }
}

}  // namespace

Task go_on(Operation& op, Outgoing& out, std::vector<Pending>& sends, std::uint64_t step) {
    if (out.publication.by_message()) {
        out.is_sent = true;
        send_to_readers(op, out.to, out.data, step, sends);
    } else {
        co_await op.copy(out.publication.room(), out.publication.next_of(out.data));
        out.publication.publish();
    }
}

Task publish_and_copy(Operation& op, bool for_everybody, BlockFor block) {
    const int n = op.size(), rank = op.rank();
    std::deque<Outgoing> outgoing;
    std::deque<Incoming> incoming;
    std::vector<Pending> sends;
    for (int i = 1; i < n; ++i) {
        const int other = (rank + n - i) % n;
        incoming.emplace_back(op, other, for_everybody, block_of(op, other));
    }
    bool has_begun = false;
    std::size_t missing = incoming.size();
    Outgoing* out = nullptr;
    Incoming* in = nullptr;
    while (!has_begun || !outgoing.empty() || missing > 0) {
        co_await op.until([&] {
            out = find_ready(outgoing);
            in = out ? nullptr : find_ready(incoming);
            return out || in || (!has_begun && op.has_arrived());
        });
        if (!has_begun && op.has_arrived()) {
            has_begun = true;
            if (for_everybody && n > 1) outgoing.emplace_back(op, kEverybody, block(op, rank));
            for (int i = 1; i < n && !for_everybody; ++i) {
                const int other = (rank + i) % n;
                outgoing.emplace_back(op, other, block(op, other));
            }
        } else if (out) {
            co_await go_on(op, *out, sends);
            if (std::all_of(outgoing.begin(), outgoing.end(), [](const Outgoing& each) { return each.has_left(); })) {
                outgoing.clear();
                co_await copy_own(op, block_of(op, rank), block(op, rank));
            }
        } else if (in) {
            co_await copy_what_is_here(op, in->reading, in->place);
            if (in->reading.complete()) --missing;
        }
    }
    if (n == 1) co_await copy_own(op, block_of(op, rank), block(op, rank));
    co_await op.all_of(sends);
}

Task publish_all(Operation& op, int to, transport::ConstBytes data) {
    Publication out(op, to, data.size);
    while (!out.complete()) {
        co_await op.until([&] { return out.has_room(); });
        if (out.by_message()) break;
        co_await op.copy(out.room(), out.next_of(data));
        out.publish();
    }
    if (!out.by_message()) co_return;
    std::vector<Pending> sends;
    send_to_readers(op, to, data, kPublishedStep, sends);
    co_await op.all_of(sends);
}

Task copy_what_is_here(Operation& op, Reading& reading, transport::Bytes into, std::uint64_t step) {
    while (reading.is_here()) {
        const bool by_message = reading.by_message();
        if (!by_message) co_await op.copy(reading.next_of(into), reading.bytes());
        if (!reading.let_go()) co_await op.failure();
        if (by_message) co_await op.receive(reading.from(), into, step);
    }
}

Task combine_what_is_here(Operation& op, Reading& reading, transport::Bytes into, transport::ConstBytes left) {
    while (reading.is_here()) {
        const bool by_message = reading.by_message();
        if (!by_message) {
            const transport::Bytes piece = reading.next_of(into);
            co_await op.combine(piece, runtime::slice(left, reading.offset(), piece.size), reading.bytes());
        }
        if (!reading.let_go()) co_await op.failure();
        if (!by_message) continue;
        const Scratch received(into.size, into);
        co_await op.receive(reading.from(), received.bytes(), kPublishedStep);
        co_await op.combine(into, left, received.bytes());
    }
}

Task copy_all(Operation& op, int from, bool for_everybody, transport::Bytes into) {
    Reading in(op, from, for_everybody, into.size);
    while (!in.complete()) {
        co_await op.until([&] { return in.is_here(); });
        co_await copy_what_is_here(op, in, into);
    }
}

Task combine_in_rank_order(Operation& op, bool for_everybody) {
    const auto contribution = op.arguments().contribution;
    const InRankOrder order(op);
    for (int rank = 0; rank < op.size(); ++rank) {
        if (rank == op.rank()) {
            if (rank == 0)
                co_await copy_own(op, order.first(), contribution);
            else
                co_await op.combine(order.into(rank), order.left(), contribution);
            continue;
        }
        Reading reading(op, rank, for_everybody, contribution.size);
        while (!reading.complete()) {
            co_await op.until([&] { return reading.is_here(); });
            if (rank == 0)
                co_await copy_what_is_here(op, reading, order.first());
            else
                co_await combine_what_is_here(op, reading, order.into(rank), order.left());
        }
    }
}

}  // namespace rollcall::collectives
