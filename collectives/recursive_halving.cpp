#include "collectives/recursive_halving.hpp"

#include <algorithm>

namespace rollcall::collectives {

using transport::Bytes;
using transport::ConstBytes;

std::vector<std::uint64_t> even_bounds(const Operation& op, const Folding& folding) {
    std::vector<std::uint64_t> bounds{0};
    for (int number = 0; number < folding.all(); ++number) bounds.push_back(share_of(op, number, folding.all()).end);
    return bounds;
}

Task combine_pair(Operation& op, const Folding& folding, Bytes sum, std::uint64_t step) {
    const ConstBytes contribution = op.arguments().contribution;
    if (folding.is_idle()) {
        co_await op.send(folding.partner(), contribution, step);
    } else {
        const Scratch received(contribution.size, contribution);
        co_await op.receive(folding.partner(), received.bytes(), step);
        co_await op.combine(sum, contribution, received.bytes());
    }
}

Task halve(Operation& op, const Folding& folding, PartBounds bounds, ConstBytes brought, Bytes sum, Bytes result, std::uint64_t step) {
    const int own = folding.number(), all = folding.all();
    const std::uint64_t lower = parts_of(brought, bounds, 0, all / 2).size;
    const Scratch received(std::max(lower, brought.size - lower), brought);
    int first = 0, last = all;
    for (int half = all / 2; half > 0; half /= 2, ++step) {
        const int other = folding.rank_of(own ^ half), middle = first + half;
        const bool is_lower = own < middle;
        const ConstBytes outgoing = is_lower ? parts_of(brought, bounds, middle, last) : parts_of(brought, bounds, first, middle);
        (is_lower ? last : first) = middle;
        const ConstBytes kept = parts_of(brought, bounds, first, last);
        const Bytes come = runtime::slice(received.bytes(), 0, kept.size);
        const auto receiving = op.receive(other, come, step);
        const auto sent = op.send(other, outgoing, step);
        co_await receiving;
        const Bytes into = half == 1 ? result : parts_of(sum, bounds, first, last);
        co_await op.combine(into, is_lower ? kept : ConstBytes(come), is_lower ? ConstBytes(come) : kept);
        co_await sent;
        brought = sum;
    }
}

Task double_up(Operation& op, const Folding& folding, PartBounds bounds, Bytes data, std::uint64_t step) {
    const int own = folding.number();
    for (int length = 1; length < folding.all(); length *= 2, ++step) {
        const int other = own ^ length, first = own / length * length, others_first = other / length * length;
        const auto receiving = op.receive(folding.rank_of(other), parts_of(data, bounds, others_first, others_first + length), step);
        const auto sent = op.send(folding.rank_of(other), parts_of(data, bounds, first, first + length), step);
        co_await receiving;
        co_await sent;
    }
}

}  // namespace rollcall::collectives
