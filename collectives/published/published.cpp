#include "collectives/published/published.hpp"

#include <algorithm>
#include <vector>

#include "collectives/combining/combining.hpp"

namespace rollcall::collectives {
namespace {

/// Sends the readers, by messages, data for which node memory has no room.
void send_to_readers(Operation& op, int to, transport::ConstBytes data, std::uint64_t step, std::vector<Pending>& sends) {
    for (int i = 1; i < op.size(); ++i) {
        const int reader = (op.rank() + i) % op.size();
        if (to == kEverybody || to == reader || (to == kHigherRanks && reader > op.rank())) sends.push_back(op.send(reader, data, step));
    }
}

// These are no tasks, because short calls make many small moves.

/// Copies the next piece, for which there is room, or begins to send all of the data. Await it, and then publish the piece.
Pending move_next(Operation& op, Outgoing& out, std::vector<Pending>& sends, std::uint64_t step = kPublishedStep) {
    if (out.is_copied()) return op.copy(out.publication.room(), out.publication.next_of(out.data));
    if (out.publication.by_message()) send_to_readers(op, out.to, out.data, step, sends);
    return {};
}

/// Copies the piece that is here to its place in `into`, unless a message brings it. Await it, and then let go of the piece.
Pending copy_next(Operation& op, Reading& reading, transport::Bytes into) {
    if (reading.is_private()) {
        reading.copy_private(into);
        return {};
    }
    return reading.by_message() ? Pending() : op.copy(reading.next_of(into), reading.bytes());
}

/// The same, combined with `left`, which has the size of the whole data, as `into` does.
Pending combine_next(Operation& op, Reading& reading, transport::Bytes into, transport::ConstBytes left) {
    if (reading.by_message()) return {};
    const transport::Bytes piece = reading.next_of(into);
    return op.combine(piece, runtime::slice(left, reading.offset(), piece.size), reading.bytes());
}

/// After so many bytes a rank that has more to publish for single readers reads what they have published, and lets them read. If it
/// published everything at once, all of that would leave the caches before it is read. (A block for all ranks counts as a block for each
/// rank, and not one for each pair.)
constexpr std::uint64_t kTurn = runtime::kPieceOfNode;

/// How far a rank has come in exchange_short().
struct ShortProgress {
    bool awaits_caller;   ///< It has something to publish, or to copy from itself, and its caller has not arrived.
    bool own_is_missing;  ///< It has yet to copy from itself.
    ShortExchange::Left left = {};
};

Pending copy_own_block(Operation& op, const ShortMoves& moves, ShortExchange& exchange) {
    const transport::Bytes into = moves.place(op, op.rank());
    const transport::ConstBytes from = moves.block(op, op.rank());
    return into.size > 0 && (!from.data || from.data != into.data) ? exchange.copy(into, from) : Pending();
}

Task move_and_wait(Operation& op, const ShortMoves& moves, std::uint64_t size, ShortProgress progress) {
    ShortExchange exchange(op, moves.flow, moves.for_everybody, size);
    exchange.go_on_from(progress.left);
    for (;;) {
        if (progress.awaits_caller && op.has_arrived()) {
            progress.awaits_caller = false;
            exchange.begin();
        }
        while (exchange.next_room()) {
            co_await exchange.write(moves.block(op, exchange.other()));
            exchange.publish();
        }
        while (exchange.next_here()) {
            co_await exchange.read(moves.place(op, exchange.other()));
            if (!exchange.let_go()) co_await op.failure();
        }
        if (progress.own_is_missing && !progress.awaits_caller && exchange.has_published()) {
            progress.own_is_missing = false;
            co_await copy_own_block(op, moves, exchange);
        }
        if (!progress.awaits_caller && !progress.own_is_missing && exchange.complete()) break;
        co_await op.until([&] { return (progress.awaits_caller && op.has_arrived()) || exchange.can_go_on(); });
    }
}

/// Does the same as far as that is possible without waiting, which takes half as many instructions. Returns whether this is all.
bool move_at_once(Operation& op, const ShortMoves& moves, ShortExchange& exchange, ShortProgress& progress) {
    if (progress.awaits_caller) {
        progress.awaits_caller = false;
        exchange.begin();
    }
    while (exchange.next_room()) {
        exchange.write(moves.block(op, exchange.other()));
        exchange.publish();
    }
    while (exchange.next_here()) {
        exchange.read(moves.place(op, exchange.other()));
        if (!exchange.let_go()) break;  // the operation is about to fail
    }
    if (progress.own_is_missing && exchange.has_published()) {
        progress.own_is_missing = false;
        copy_own_block(op, moves, exchange);
    }
    progress.left = exchange.left();
    return exchange.complete() && !progress.own_is_missing;
}

}  // namespace

Task exchange_short(Operation& op, const ShortMoves& moves, std::uint64_t size) {
    ShortExchange exchange(op, moves.flow, moves.for_everybody, size);
    const bool has_own = moves.copies_own && (op.root() < 0 || op.rank() == op.root());
    ShortProgress progress{has_own || exchange.publishes(), has_own, exchange.left()};
    if (op.has_arrived() && exchange.copies_at_once() && move_at_once(op, moves, exchange, progress)) return {};
    return move_and_wait(op, moves, size, progress);
}

Task go_on(Operation& op, Outgoing& out, std::vector<Pending>& sends, std::uint64_t step) {
    co_await move_next(op, out, sends, step);
    out.publication.publish();
}

namespace {

Task exchange_long(Operation& op, bool for_everybody, BlockFor block) {
    const int n = op.size(), rank = op.rank();
    Uses<Outgoing> outgoing(for_everybody ? 1 : n - 1);
    Uses<Incoming> incoming(n - 1);
    std::vector<Pending> sends;
    for (int i = 1; i < n; ++i) {
        const int other = (rank + n - i) % n;
        incoming.add(op, other, for_everybody, block_of(op, other));
    }
    bool has_begun = false, own_is_missing = true;
    int missing = n - 1, to_leave = 0;
    const std::uint64_t turn = for_everybody ? ~std::uint64_t{0} : kTurn;
    const auto can_go_on = [&] {
        return (!has_begun && op.has_arrived()) || find_ready(outgoing) != nullptr || find_ready(incoming) != nullptr;
    };
    while (own_is_missing || to_leave > 0 || missing > 0) {
        co_await op.until(can_go_on);
        if (!has_begun && op.has_arrived()) {
            has_begun = true;
            if (for_everybody && n > 1)
                outgoing.add(op, kEverybody, block(op, rank), Publisher::reads, n == 2 ? InPlace::anywhere : InPlace::nothing);
            for (int i = 1; i < n && !for_everybody; ++i) {
                const int other = (rank + i) % n;
                outgoing.add(op, other, block(op, other), Publisher::reads, InPlace::anywhere);
            }
            to_leave = outgoing.size();
        }
        std::uint64_t published = 0;
        for (Outgoing* out = outgoing.begin(); out != outgoing.end() && published < turn; ++out) {
            while (published < turn && out->can_go_on()) {
                if (out->is_copied()) published += out->publication.next_of(out->data).size;
                co_await move_next(op, *out, sends);
                out->publication.publish();
                if (out->has_left()) --to_leave;
            }
        }
        for (Incoming& in : incoming) {
            Reading& reading = in.reading;
            while (in.can_go_on()) {
                const bool by_message = reading.by_message();
                co_await copy_next(op, reading, in.place);
                if (!reading.let_go()) co_await op.failure();
                if (by_message) co_await op.receive(reading.from(), in.place, kPublishedStep);
                if (reading.complete()) --missing;
            }
        }
        // This rank's own block comes last, because others may wait until this rank has read what they have published in place.
        if (has_begun && own_is_missing && to_leave == 0) {
            own_is_missing = false;
            // (A rank that exchanges data with the ranks of another group has no block for itself.)
            if (const transport::Bytes own = block_of(op, rank); own.size > 0) co_await copy_own(op, own, block(op, rank));
        }
        if (published >= turn && to_leave > 0) co_await op.give_way();
    }
    co_await op.all_of(sends);
    co_await all_read(op, outgoing);
}

/// Null `sends_of_caller`: awaits the messages.
Task publish(Operation& op, int to, transport::ConstBytes data, Publisher publisher, InPlace in_place,
             std::vector<Pending>* sends_of_caller = nullptr) {
    std::vector<Pending> sends;
    Outgoing out(op, to, data, publisher, in_place);
    while (!out.has_left()) {
        co_await op.until([&] { return out.publication.has_room(); });
        co_await move_next(op, out, sends_of_caller ? *sends_of_caller : sends);
        out.publication.publish();
    }
    co_await op.until([&] { return out.publication.is_read(); });
    co_await op.all_of(sends);
}

}  // namespace

Task publish_rest(Operation& op, Outgoing& out, std::vector<Pending>& sends) {
    while (!out.has_left()) {
        co_await op.until([&] { return out.can_go_on(); });
        co_await go_on(op, out, sends);
    }
}

Task publish_and_copy(Operation& op, bool for_everybody, BlockFor block) {
    const runtime::Arguments& arguments = op.arguments();
    const std::uint64_t size = op.call().bytes;
    const bool have_one_size = !arguments.blocks && !arguments.contribution_blocks && block(op, op.rank()).size == size;
    const bool is_short = have_one_size && ShortExchange::suits(op.size(), size);
    if (!is_short) return exchange_long(op, for_everybody, block);
    static constexpr ShortMoves kForAll{ShortExchange::Flow::among_all, true, true, &same_for_all};
    static constexpr ShortMoves kForEach{ShortExchange::Flow::among_all, false, true, &block_for};
    return exchange_short(op, for_everybody ? kForAll : kForEach, size);
}

Task publish_all(Operation& op, int to, transport::ConstBytes data, Publisher publisher) {
    return publish(op, to, data, publisher, InPlace::nothing);
}

Task publish_for_one(Operation& op, int to, transport::ConstBytes data, std::vector<Pending>& sends) {
    return publish(op, to, data, Publisher::leaves, InPlace::nothing, &sends);
}

Task publish_first(Operation& op, int to, transport::ConstBytes data, Publisher publisher, PublishedMessages& messages) {
    Publication out(op, to, data.size, publisher);
    while (!out.complete()) {
        co_await op.until([&] { return out.has_room(); });
        if (out.by_message()) {
            messages.data.emplace(data.size, data);
            co_await op.copy(messages.data->bytes(), data);
            send_to_readers(op, to, messages.data->bytes(), kPublishedStep, messages.sends);
        } else {
            co_await op.copy(out.room(), out.next_of(data));
        }
        out.publish();
    }
}

Task publish_last(Operation& op, int to, transport::ConstBytes data) {
    return publish(op, to, data, Publisher::leaves, op.stays() ? InPlace::shared : InPlace::nothing);
}

Task copy_what_is_here(Operation& op, Reading& reading, transport::Bytes into, std::uint64_t step) {
    while (reading.is_here()) {
        const bool by_message = reading.by_message();
        co_await copy_next(op, reading, into);
        if (!reading.let_go()) co_await op.failure();
        if (by_message) co_await op.receive(reading.from(), into, step);
    }
}

Task combine_what_is_here(Operation& op, Reading& reading, transport::Bytes into, transport::ConstBytes left) {
    while (reading.is_here()) {
        const bool by_message = reading.by_message();
        co_await combine_next(op, reading, into, left);
        if (!reading.let_go()) co_await op.failure();
        if (!by_message) continue;
        const Scratch received(into.size, into);
        co_await op.receive(reading.from(), received.bytes(), kPublishedStep);
        co_await op.combine(into, left, received.bytes());
    }
}

// It has no part that is a task of its own, because most of its readers copy a few bytes.
Task copy_all(Operation& op, int from, bool for_everybody, transport::Bytes into) {
    Reading in(op, from, for_everybody, into.size);
    while (!in.complete()) {
        co_await op.until([&] { return in.is_here(); });
        const bool by_message = in.by_message();
        co_await copy_next(op, in, into);
        if (!in.let_go()) co_await op.failure();
        if (by_message) co_await op.receive(from, into, kPublishedStep);
    }
}

Task publish_and_read(Operation& op, transport::ConstBytes own, transport::Bytes others) {
    Outgoing out(op, kEverybody, own, Publisher::reads);
    Uses<Incoming> incoming(op.size() - 1);
    for (int i = 0; i < op.size(); ++i) {
        const std::uint64_t at = others.size > 0 ? own.size * static_cast<std::uint64_t>(incoming.size()) : 0;
        if (i != op.rank()) incoming.add(op, i, true, runtime::slice(others, at, own.size));
    }
    std::vector<Pending> sends;
    int missing = incoming.size();
    Incoming* come = nullptr;
    while (!out.has_left() || missing > 0) {
        co_await op.until([&] { return (come = find_ready(incoming)) || out.can_go_on(); });
        if (come) {
            Reading& reading = come->reading;
            if (others.size > 0) {
                co_await copy_what_is_here(op, reading, come->place);
            } else if (reading.by_message()) {
                const Scratch unwanted(own.size, own);
                co_await copy_what_is_here(op, reading, unwanted.bytes());
            } else if (!reading.let_go()) {
                co_await op.failure();
            }
            if (reading.complete()) --missing;
        }
        if (out.can_go_on()) co_await go_on(op, out, sends);
    }
    co_await op.all_of(sends);
}

Task exchange_and_combine(Operation& op) {
    const auto contribution = op.arguments().contribution;
    ShortExchange exchange(op, ShortExchange::Flow::among_all, true, contribution.size);
    exchange.begin();
    if (!exchange.has_published()) {
        co_await op.until([&] { return exchange.next_room(); });
        co_await exchange.write(contribution);
        exchange.publish();
        exchange.tell();
    }
    const InRankOrder order(op);
    for (int rank = 0; rank < op.size(); ++rank) {
        const transport::Bytes into = rank == 0 ? order.first() : order.into(rank);
        const bool is_own = rank == op.rank();
        if (!is_own) {
            co_await op.until([&] {
                const bool is_here = exchange.is_here(rank);
                if (!is_here) exchange.tell();
                return is_here;
            });
        }
        const transport::ConstBytes its = is_own ? contribution : exchange.bytes();
        if (rank > 0)
            co_await op.combine(into, order.left(), its);
        else if (is_own)
            co_await copy_own(op, into, its);
        else
            co_await op.copy(into, its);
        if (!is_own && !exchange.let_go()) co_await op.failure();
    }
}

Task combine_in_rank_order(Operation& op, bool for_everybody) {
    const auto contribution = op.arguments().contribution;
    const std::uint64_t size = contribution.size;
    const InRankOrder order(op);
    for (int rank = 0; rank < op.size(); ++rank) {
        const transport::Bytes into = rank == 0 ? order.first() : order.into(rank);
        const transport::ConstBytes left = order.left();
        if (rank == op.rank()) {
            if (rank == 0)
                co_await copy_own(op, into, contribution);
            else
                co_await op.combine(into, left, contribution);
            continue;
        }
        Reading reading(op, rank, for_everybody, size);
        while (!reading.complete()) {
            co_await op.until([&] { return reading.is_here(); });
            const bool by_message = reading.by_message();
            // (GCC 12 destroys a conditional expression that is awaited twice.)
            Pending moved = rank == 0 ? copy_next(op, reading, into) : combine_next(op, reading, into, left);
            co_await moved;
            if (!reading.let_go()) co_await op.failure();
            if (!by_message) continue;
            const Scratch received(rank == 0 ? 0 : size, contribution);
            const transport::Bytes come = rank == 0 ? into : received.bytes();
            co_await op.receive(rank, come, kPublishedStep);
            if (rank > 0) co_await op.combine(into, left, come);
        }
    }
}

}  // namespace rollcall::collectives
