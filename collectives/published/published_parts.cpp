#include "collectives/published/published_parts.hpp"

#include <algorithm>
#include <vector>

#include "collectives/combining/combining.hpp"
#include "collectives/published/published.hpp"

namespace rollcall::collectives {
namespace {

using transport::Bytes;
using transport::ConstBytes;

/// Between two ranks, contributions up to this size are combined where their publisher has copied them: two copies within a cache take less
/// time than one that the kernel makes.
constexpr std::uint64_t kLeastToReadPrivate = 128 << 10;

/// The step of the messages that carry data for which there is no room.
std::uint64_t step_of(int to) { return to == kEverybody ? kPublishedStep + 1 : kPublishedStep; }

/// Combines `mine` with a piece in memory that only its publisher maps. The piece is copied to its place in `into`, or, where that is the
/// place of `mine`, in `aside`.
Task combine_private(Operation& op, Reading& reading, Bytes into, ConstBytes mine, Bytes aside) {
    const Bytes piece = reading.next_of(into), copied = into.data == mine.data ? reading.next_of(aside) : piece;
    reading.copy_private(into.data == mine.data ? aside : into);
    const ConstBytes own = runtime::slice(mine, reading.offset(), piece.size);
    if (!reading.let_go()) co_await op.failure();
    co_await op.combine(piece, own, copied);
}

/// How a rank combines its part, and where.
struct Combination {
    Combination(const Operation& op, const PublishedParts& parts)
        : any_order(op.arguments().combiner.any_order),
          has_part(parts.own.size > 0),
          is_pair(parts.in_place == InPlace::anywhere && op.size() == 2 && any_order),
          in_place(parts.in_place),
          own(parts.own),
          mine(parts.brought(op.rank())),
          is_aside(!any_order && op.rank() > 0),
          aside(is_aside || (own.data == mine.data && in_place_of(own.size) == InPlace::anywhere) ? own.size : 0, mine),
          sum(is_aside ? aside.bytes() : own) {}

    InPlace in_place_of(std::uint64_t size) const {
        if (is_pair && size > kLeastToReadPrivate) return InPlace::anywhere;
        return in_place == InPlace::anywhere ? InPlace::shared : in_place;
    }

    bool any_order, has_part;
    /// Between two ranks everything has one reader. It copies long data straight from the other rank's memory, instead of data that the
    /// other rank has copied for it.
    bool is_pair;
    InPlace in_place;
    Bytes own;
    ConstBytes mine;
    /// In rank order this rank's own elements come between those of other ranks. (They are combined in other memory, so that own elements
    /// which stand in the place of the result are not overwritten.)
    bool is_aside;
    Scratch aside;
    Bytes sum;
};

/// What a rank publishes and reads, and which of it can go on now.
struct Transfers {
    Transfers(Operation& op, const PublishedParts& parts, const Combination& combination)
        : outgoing(op.size()), operands(combination.has_part ? op.size() - 1 : 0), results(parts.others ? op.size() - 1 : 0) {
        const int n = op.size(), rank = op.rank();
        for (int i = 1; i < n; ++i) {
            const int other = (rank + i) % n;
            if (const ConstBytes brought = parts.brought(other); brought.size > 0)
                outgoing.add(op, other, brought, Publisher::leaves, combination.in_place_of(brought.size));
        }
        for (int other = 0; other < n && combination.has_part; ++other)
            if (other != rank) operands.add(op, other, false, combination.sum);
        for (int i = 1; i < n && parts.others; ++i)
            if (const int other = (rank + i) % n; parts.brought(other).size > 0) results.add(op, other, true, parts.others(other));
    }

    /// `next`: the only rank whose operand counts now, or -1 for that of any rank.
    bool find_ready_ones(int next) {
        has_room = find_ready(outgoing);
        operand = find_ready(operands, [&](const Incoming& in) { return next < 0 || in.reading.from() == next; });
        result = find_ready(results);
        return has_room || operand || result;
    }
    bool are_over() const {
        return std::all_of(outgoing.begin(), outgoing.end(), [](const Outgoing& out) { return out.has_left(); }) &&
               std::all_of(results.begin(), results.end(), [](const Incoming& in) { return in.reading.complete(); });
    }

    Uses<Outgoing> outgoing;  ///< To each other rank, and then to everybody.
    Uses<Incoming> operands, results;
    Outgoing* has_room = nullptr;
    Incoming* operand = nullptr;
    Incoming* result = nullptr;
};

}  // namespace

// All waits are in one place, so that no rank occupies room in the memory that another rank needs in order to go on.
Task combine_published_parts(Operation& op, PublishedParts parts) {
    const int n = op.size(), rank = op.rank();
    const Combination how(op, parts);
    Transfers transfers(op, parts, how);
    std::vector<Pending> sends;
    // The first operand is combined with this rank's own elements where they stand, if there is no other one.
    const ConstBytes left = how.is_pair ? how.mine : ConstBytes(how.sum);
    if (!how.is_pair && how.has_part && how.any_order) co_await copy_own(op, how.own, how.mine);

    int next = 0;  // the next rank, where the order of ranks matters
    int missing = how.has_part ? how.any_order ? n - 1 : n : 0;
    bool has_shown = !how.has_part;
    for (;;) {
        // The turn of this rank's own elements, where the order of ranks matters.
        if (!how.any_order && next == rank && missing > 0) {
            if (rank == 0)
                co_await copy_own(op, how.own, how.mine);
            else
                co_await op.combine(rank + 1 == n ? how.own : how.sum, how.sum, how.mine);
            ++next;
            --missing;
        }
        if (!has_shown && missing == 0) {
            has_shown = true;
            const InPlace in_place = how.is_pair ? how.in_place_of(how.own.size) : InPlace::nothing;
            if (parts.others) transfers.outgoing.add(op, kEverybody, how.own, Publisher::leaves, in_place);
        }
        if (has_shown && transfers.are_over()) break;
        co_await op.until([&] { return transfers.find_ready_ones(how.any_order ? -1 : next); });
        if (Outgoing* const out = transfers.has_room) co_await go_on(op, *out, sends, step_of(out->to));
        if (transfers.operand) {
            Reading& reading = transfers.operand->reading;
            const bool is_last = !how.any_order && reading.from() + 1 == n;
            if (!how.any_order && reading.from() == 0)
                co_await copy_what_is_here(op, reading, how.sum);
            else if (reading.is_private())
                co_await combine_private(op, reading, how.own, how.mine, how.aside.bytes());
            else
                co_await combine_what_is_here(op, reading, is_last ? how.own : how.sum, left);
            if (reading.complete()) {
                --missing;
                ++next;
            }
        }
        if (Incoming* const come = transfers.result) co_await copy_what_is_here(op, come->reading, come->place, step_of(kEverybody));
    }
    co_await op.all_of(sends);
    co_await all_read(op, transfers.outgoing);
}

}  // namespace rollcall::collectives
