#include "collectives/blocks/members.hpp"

#include <bit>

#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {
namespace {

transport::Bytes slice_of(transport::Bytes data, const Range& range) { return runtime::slice(data, range.begin, range.size()); }

/// A span in the binomial tree in which member v and the members below it are v .. v + span(v) - 1.
int span_of(int member, int size) { return member > 0 ? member & -member : static_cast<int>(std::bit_ceil(static_cast<unsigned>(size))); }

}  // namespace

Task gather_all_in_ring(Operation& op, const Members& members, int member, const Parts& parts, transport::Bytes data, std::uint64_t step) {
    const int n = members.size;
    return gather_all_in_ring(op, members.rank((member + 1) % n), members.rank((member + n - 1) % n), member, parts, data, step);
}

Task gather_all_in_ring(Operation& op, int next, int previous, int member, const Parts& parts, transport::Bytes data, std::uint64_t step) {
    const int n = parts.count();
    for (int i = 0; i + 1 < n; ++i, ++step) {
        const auto received = op.receive(previous, slice_of(data, parts[(member - i - 1 + n) % n]), step);
        const auto sent = op.send(next, slice_of(data, parts[(member - i + n) % n]), step);
        co_await received;
        co_await sent;
    }
}

Task scatter_down(Operation& op, const HalvingPlace& place, int own, const Parts& parts, transport::Bytes data, std::uint64_t step) {
    int last = own + place.blocks - 1;
    if (place.parent >= 0) co_await op.receive(place.parent, slice_of(data, parts.from_to(own, last)), step);
    for (const auto& [child, blocks] : place.children) {
        co_await op.send(child, slice_of(data, parts.from_to(last - blocks + 1, last)), step);
        last -= blocks;
    }
}

Task scatter_and_gather_all(Operation& op, const Members& members, int member, transport::Bytes data, std::uint64_t step) {
    const int n = members.size;
    // The last parts of a short message are empty.
    const std::uint64_t most = (data.size + static_cast<std::uint64_t>(n) - 1) / static_cast<std::uint64_t>(n);
    Parts parts;
    for (int i = 0; i < n; ++i) parts.add(std::min(most, data.size - parts.total()));
    HalvingPlace place = halving_place(n, 0, member);
    if (place.parent >= 0) place.parent = members.rank(place.parent);
    for (auto& child : place.children) child.rank = members.rank(child.rank);
    co_await scatter_down(op, place, member, parts, data, step);
    co_await gather_all_in_ring(op, members, member, parts, data, step + 1);
}

Task gather_up(Operation& op, const Members& members, int member, const Parts& parts, transport::ConstBytes own, transport::Bytes data,
               std::uint64_t step) {
    const int n = members.size;
    const int span = span_of(member, n);
    const Range all = parts.from_to(member, std::min(member + span, n) - 1);
    const bool passes_on = member > 0 && (span > 1 && member + 1 < n);
    const Scratch scratch(passes_on ? all.size() : 0, own);
    const transport::Bytes collected = member == 0 ? data : scratch.bytes();
    if (passes_on) co_await op.copy(runtime::slice(collected, 0, own.size), own);
    for (int distance = 1; distance < span && member + distance < n; distance *= 2) {
        const int child = member + distance;
        const Range its = parts.from_to(child, std::min(child + distance, n) - 1);
        co_await op.receive(members.rank(child), runtime::slice(collected, its.begin - all.begin, its.size()), step);
    }
    if (member == 0) co_return;
    co_await op.send(members.rank(member - span), passes_on ? transport::ConstBytes(collected) : own, step);
}

}  // namespace rollcall::collectives
