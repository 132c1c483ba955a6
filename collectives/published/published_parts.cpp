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

}  // namespace

// All waits are in one place, so that no rank occupies room in the memory that another rank needs in order to go on.
Task combine_published_parts(Operation& op, PublishedParts parts) {
    const int n = op.size(), rank = op.rank();
    const bool any_order = op.arguments().combiner.any_order;
    const Bytes own = parts.own;
    const ConstBytes mine = parts.brought(rank);
    // In rank order this rank's own elements come between those of other ranks. (They are combined in other memory, so that own elements
    // which stand in the place of the result are not overwritten.)
    const bool is_aside = !any_order && rank > 0;
    // Between two ranks everything has one reader. It copies long data straight from the other rank's memory, instead of data that the
    // other rank has copied for it.
    const bool is_pair = parts.in_place == InPlace::anywhere && n == 2 && any_order;
    const auto in_place_of = [&](std::uint64_t size) {
        if (is_pair && size > kLeastToReadPrivate) return InPlace::anywhere;
        return parts.in_place == InPlace::anywhere ? InPlace::shared : parts.in_place;
    };
    const bool needs_aside = is_aside || (own.data == mine.data && in_place_of(own.size) == InPlace::anywhere);
    const Scratch aside(needs_aside ? own.size : 0, mine);
    const Bytes sum = is_aside ? aside.bytes() : own;

    const bool has_part = own.size > 0;
    Uses<Outgoing> outgoing(n);  // to each other rank, and then to everybody
    Uses<Incoming> operands(has_part ? n - 1 : 0), results(parts.others ? n - 1 : 0);
    std::vector<Pending> sends;
    for (int i = 1; i < n; ++i) {
        const int other = (rank + i) % n;
        if (const ConstBytes brought = parts.brought(other); brought.size > 0)
            outgoing.add(op, other, brought, Publisher::leaves, in_place_of(brought.size));
    }
    int next = 0;  // the next rank, where the order of ranks matters
    std::size_t combined = 0;
    if (has_part)
        for (int other = 0; other < n; ++other)
            if (other != rank) operands.add(op, other, false, sum);
    for (int i = 1; i < n && parts.others; ++i)
        if (const int other = (rank + i) % n; parts.brought(other).size > 0) results.add(op, other, true, parts.others(other));
    // The first operand is combined with this rank's own elements where they stand, if there is no other one.
    ConstBytes left = sum;
    if (is_pair)
        left = mine;
    else if (has_part && any_order)
        co_await copy_own(op, own, mine);

    Outgoing* has_room = nullptr;
    Incoming* operand = nullptr;
    Incoming* result = nullptr;
    const auto can_go_on = [&] {
        has_room = find_ready(outgoing);
        operand = find_ready(operands, [&](const Incoming& in) { return any_order || in.reading.from() == next; });
        result = find_ready(results);
        return has_room || operand || result;
    };
    const auto all_done = [&] {
        return std::all_of(outgoing.begin(), outgoing.end(), [](const Outgoing& out) { return out.has_left(); }) &&
               std::all_of(results.begin(), results.end(), [](const Incoming& in) { return in.reading.complete(); });
    };
    const std::size_t expected = has_part ? static_cast<std::size_t>(n) : 0;
    combined = has_part && any_order ? 1 : 0;
    bool has_shown = !has_part;
    for (;;) {
        // The turn of this rank's own elements, where the order of ranks matters.
        if (has_part && !any_order && next == rank && combined < expected) {
            if (rank == 0)
                co_await copy_own(op, own, mine);
            else
                co_await op.combine(rank + 1 == n ? own : sum, sum, mine);
            ++next;
            ++combined;
        }
        if (!has_shown && combined == expected) {
            has_shown = true;
            if (parts.others) outgoing.add(op, kEverybody, own, Publisher::leaves, is_pair ? in_place_of(own.size) : InPlace::nothing);
        }
        if (has_shown && all_done()) break;
        co_await op.until(can_go_on);
        if (has_room) co_await go_on(op, *has_room, sends, step_of(has_room->to));
        if (operand) {
            Reading& reading = operand->reading;
            const bool is_last = !any_order && reading.from() + 1 == n;
            if (!any_order && reading.from() == 0)
                co_await copy_what_is_here(op, reading, sum);
            else if (reading.is_private())
                co_await combine_private(op, reading, own, mine, aside.bytes());
            else
                co_await combine_what_is_here(op, reading, is_last ? own : sum, left);
            if (reading.complete()) {
                ++combined;
                ++next;
            }
        }
        if (result) co_await copy_what_is_here(op, result->reading, result->place, step_of(kEverybody));
    }
    co_await op.all_of(sends);
    co_await all_read(op, outgoing);
}

}  // namespace rollcall::collectives
