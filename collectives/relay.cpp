#include "collectives/relay.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "collectives/costs/costs.hpp"
#include "collectives/pieces.hpp"
#include "collectives/trees/binomial.hpp"

namespace rollcall::collectives {
namespace {

Task relay_pieces(Operation& op, transport::Bytes data, int from, std::vector<int> to, std::uint64_t segment, std::uint64_t step,
                  bool to_caller) {
    const Pieces pieces(op, data.size, segment);
    std::array<Pending, Pieces::kMostAtOnce> incoming;
    // A whole message goes to one child after the other.
    std::vector<Pending> outgoing(pieces.count() == 1 ? 1 : pieces.window() * to.size());
    std::uint64_t posted = 0, sent = 0;
    for (std::uint64_t number = 0; number < pieces.count(); ++number) {
        if (from >= 0) {
            for (; posted < std::min(pieces.count(), number + pieces.window()); ++posted)
                incoming[pieces.at(posted)] = op.receive(from, pieces.of(data, posted), step + posted);
            co_await incoming[pieces.at(number)];
            if (to_caller) op.note_here(pieces.end(number));
        }
        for (const int child : to) {
            Pending& oldest = outgoing[sent++ % outgoing.size()];
            co_await oldest;
            oldest = op.send(child, pieces.of(data, number), step + number);
        }
    }
    for (Pending& pending : outgoing) co_await pending;
}

/// The ranks of a broadcast, as if each had a node of its own.
CostInput cost_input_of_group(const Operation& op, std::uint64_t bytes, int ranks) {
    return cost_input_of(op.costs(), bytes, ranks, false, 0);
}

/// This rank's number in a tree whose root has number 0.
int number_of(const Operation& op, int root, const Members& others) { return op.rank() == root ? 0 : op.rank() - others.first + 1; }

Task relay_from(Operation& op, int root, const Members& others, TreePlace place, transport::Bytes data, std::uint64_t piece,
                std::uint64_t step) {
    const auto rank_of = [&](int number) { return number == 0 ? root : others.rank(number - 1); };
    for (int& child : place.children) child = rank_of(child);
    co_await relay(op, data, place.parent < 0 ? -1 : rank_of(place.parent), std::move(place.children), piece, step);
}

}  // namespace

std::uint64_t chain_between_nodes(const Operation& op, std::uint64_t bytes, int ranks) {
    return cost::chain_segment(cost_input_of_group(op, bytes, ranks));
}

Task relay(Operation& op, transport::Bytes data, int from, std::vector<int> to, std::uint64_t segment, std::uint64_t step) {
    return relay_pieces(op, data, from, std::move(to), segment, step, false);
}

Task relay_to_caller(Operation& op, int from, std::vector<int> to) {
    return relay_pieces(op, op.arguments().data, from, std::move(to), op.arguments().segment_bytes, 0, true);
}

Task broadcast_down_tree(Operation& op, int root, const Members& others, transport::Bytes data, std::uint64_t step) {
    return relay_from(op, root, others, binomial_tree(others.size + 1, 0, number_of(op, root, others)), data, 0, step);
}

Task broadcast_down_chain(Operation& op, int root, const Members& others, transport::Bytes data, std::uint64_t step) {
    const int n = others.size + 1, number = number_of(op, root, others);
    TreePlace place;
    place.parent = number - 1;
    if (number + 1 < n) place.children.push_back(number + 1);
    return relay_from(op, root, others, std::move(place), data, chain_between_nodes(op, data.size, n), step);
}

Task broadcast_to(Operation& op, int root, const Members& others, transport::Bytes data, std::uint64_t step) {
    const CostInput cost_input = cost_input_of_group(op, data.size, others.size + 1);
    if (cost::is_less(cost::chain(cost_input), cost::binomial(cost_input))) return broadcast_down_chain(op, root, others, data, step);
    return broadcast_down_tree(op, root, others, data, step);
}

}  // namespace rollcall::collectives
