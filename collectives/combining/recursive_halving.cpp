#include "collectives/combining/recursive_halving.hpp"

namespace rollcall::collectives {

using transport::Bytes;
using transport::ConstBytes;

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

RadixGroups halving_groups(const Folding& folding) {
    return {.own = folding.number(), .factors = std::vector<int>(halving_steps(folding), 2), .rank_of = [folding](int number) {
                return folding.rank_of(number);
            }};
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
