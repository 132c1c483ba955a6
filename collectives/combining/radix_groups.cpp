#include "collectives/combining/radix_groups.hpp"

#include <algorithm>
#include <numeric>

namespace rollcall::collectives {

using transport::Bytes;
using transport::ConstBytes;

int RadixGroups::all() const { return std::accumulate(factors.begin(), factors.end(), 1, std::multiplies()); }

namespace {

/// The numbers that have the same digits as this rank, but for the last ones: `length` consecutive numbers.
Range parts_kept(const Parts& parts, int own, int length) {
    const int first = own / length * length;
    return parts.from_to(first, first + length - 1);
}

/// The memory for what comes in: in each round a piece from each other rank of the group.
std::uint64_t room_for_groups(const RadixGroups& groups, const Parts& parts) {
    std::uint64_t room = 0;
    int length = groups.all();
    for (const int factor : groups.factors) {
        length /= factor;
        room = std::max(room, parts_kept(parts, groups.own, length).size() * static_cast<std::uint64_t>(factor - 1));
    }
    return room;
}

}  // namespace

Task combine_in_groups(Operation& op, RadixGroups groups, const Parts& parts, ConstBytes brought, Bytes sum, Bytes result,
                       std::uint64_t step) {
    const int own = groups.own;
    const Scratch received(room_for_groups(groups, parts), brought);
    std::vector<Pending> incoming, outgoing;
    int length = groups.all();
    for (const int factor : groups.factors) {
        const int first = own / length * length;  // the first number with this rank's digits so far
        length /= factor;
        const int digit = (own - first) / length;
        const auto rank_at = [&](int other) { return groups.rank_of(own + (other - digit) * length); };
        const auto pieces_of_digit = [&](int other) {
            return parts_of(brought, parts, first + other * length, first + (other + 1) * length - 1);
        };
        ConstBytes kept = pieces_of_digit(digit);
        const auto slot = [&](int distance) {
            return runtime::slice(received.bytes(), static_cast<std::uint64_t>(distance - 1) * kept.size, kept.size);
        };
        incoming.clear();
        outgoing.clear();
        for (int distance = 1; distance < factor; ++distance)
            incoming.push_back(op.receive(rank_at((digit - distance + factor) % factor), slot(distance), step));
        const Bytes into = length == 1 ? result : runtime::slice(sum, parts_kept(parts, own, length).begin, kept.size);
        // One after the other: at a time, each rank of the group is sent one message.
        for (int distance = 1; distance < factor; ++distance) {
            const int to = (digit + distance) % factor;
            outgoing.push_back(op.send(rank_at(to), pieces_of_digit(to), step));
            co_await incoming[static_cast<std::size_t>(distance - 1)];
            const ConstBytes come = slot(distance);
            const bool comes_left = distance <= digit;
            co_await op.combine(into, comes_left ? come : kept, comes_left ? kept : come);
            kept = into;
        }
        co_await op.all_of(outgoing);
        brought = sum;
        ++step;
    }
}

Task gather_at_first(Operation& op, RadixGroups groups, const Parts& parts, Bytes data, std::uint64_t step) {
    const int own = groups.own, all = groups.all();
    for (int length = 1; length < all; length *= 2) {
        if (own & length) {
            co_await op.send(groups.rank_of(own - length), parts_of(data, parts, own, std::min(own + length, all) - 1), step);
            break;
        }
        const int other = own + length;
        if (other < all) co_await op.receive(groups.rank_of(other), parts_of(data, parts, other, std::min(other + length, all) - 1), step);
    }
}

}  // namespace rollcall::collectives
