#include "collectives/recursive_halving.hpp"

#include <algorithm>

namespace rollcall::collectives {

using transport::Bytes;
using transport::ConstBytes;

Parts even_parts(const Operation& op, const Folding& folding) {
    Parts parts;
    for (int number = 0; number < folding.all(); ++number) parts.add(share_of(op, number, folding.all()).size());
    return parts;
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

Task halve(Operation& op, const Folding& folding, const Parts& parts, ConstBytes brought, Bytes sum, Bytes result, std::uint64_t step) {
    const int own = folding.number(), all = folding.all();
    const std::uint64_t lower = parts_of(brought, parts, 0, all / 2 - 1).size;
    const Scratch received(std::max(lower, brought.size - lower), brought);
    int first = 0, last = all;
    for (int half = all / 2; half > 0; half /= 2, ++step) {
        const int other = folding.rank_of(own ^ half), middle = first + half;
        const bool is_lower = own < middle;
        const ConstBytes outgoing = is_lower ? parts_of(brought, parts, middle, last - 1) : parts_of(brought, parts, first, middle - 1);
        (is_lower ? last : first) = middle;
        const ConstBytes kept = parts_of(brought, parts, first, last - 1);
        const Bytes come = runtime::slice(received.bytes(), 0, kept.size);
        const auto receiving = op.receive(other, come, step);
        const auto sent = op.send(other, outgoing, step);
        co_await receiving;
        const Bytes into = half == 1 ? result : parts_of(sum, parts, first, last - 1);
        co_await op.combine(into, is_lower ? kept : ConstBytes(come), is_lower ? ConstBytes(come) : kept);
        co_await sent;
        brought = sum;
    }
}

Task double_up(Operation& op, const Folding& folding, const Parts& parts, Bytes data, std::uint64_t step) {
    const int own = folding.number();
    for (int length = 1; length < folding.all(); length *= 2, ++step) {
        const int other = own ^ length, first = own / length * length, others_first = other / length * length;
        const auto receiving = op.receive(folding.rank_of(other), parts_of(data, parts, others_first, others_first + length - 1), step);
        const auto sent = op.send(folding.rank_of(other), parts_of(data, parts, first, first + length - 1), step);
        co_await receiving;
        co_await sent;
    }
}

}  // namespace rollcall::collectives
