// Full-duplex intergroup allgather. Q. Kang, J. L. Träff, R. Al-Bahrani, A. Agrawal, A. Choudhary and W. Liao, "Scalable algorithms for MPI
// intergroup allgather and allgatherv", Parallel Computing 2019, algorithms 1 (blocks of one size) and 2 (blocks of different sizes).
//
// Idea: the data of each group is cut into as many parts as the other group has ranks. Each rank of the other group is sent one part, by
// the ranks whose blocks make it up. All these messages are sent at once, and in both directions. Then each group passes its parts round a
// ring. A rank receives only what it must have, and hardly anything else takes time: the time is at most M + k, where M = max(p kA, q kB)
// is the least possible one (Theorem 1). In algorithm 2, a sender serves its receivers in rank order. A receiver first takes what comes
// from the highest of the senders that have several receivers (Theorem 3).
//
// Example (Fig. 1): p = 6, q = 2, a block takes 3, so a third of one takes 1. a0..a2 send their blocks to b0, a3..a5 theirs to b1, one
// after the other until 9. Meanwhile b0 sends a third of its block to each of a0..a2, and b1 to a3..a5, until 3. A rank begins the ring
// when its own blocks have left, too: a2 and a5 at 9. The ring of A takes 5 steps of 1, that of B one step of 9. They end at 14 and 18.
#include <algorithm>
#include <optional>
#include <vector>

#include "collectives/intergroup/full_duplex.hpp"
#include "collectives/intergroup/intergroup.hpp"
#include "collectives/intergroup/sides.hpp"

namespace rollcall::collectives {
namespace {

constexpr std::uint64_t kPieces = kStepsForSizes, kRing = kPieces + 1;

/// How the data of each group is cut. Part i of what a group receives goes to its member i.
struct Cuts {
    Parts to_own, to_other;
};

// Algorithm 1, where one group's size divides the other's. The larger group is divided into a subgroup for each rank of the smaller group.
// A rank of the larger group sends its whole block to the rank of the smaller group that its subgroup belongs to. That rank cuts its own
// block into a piece for each rank of the subgroup.
Cuts cut_by_subgroups(const Sides& sides, const BothBlocks& blocks) {
    const bool is_larger = sides.own.size >= sides.other.size;
    const Parts& of_larger = is_larger ? blocks.own : blocks.other;
    const Parts& of_smaller = is_larger ? blocks.other : blocks.own;
    const int each = of_larger.count() / of_smaller.count();
    Parts to_larger, to_smaller;
    for (int number = 0; number < of_smaller.count(); ++number) {
        to_smaller.add(of_larger.from_to(number * each, number * each + each - 1).size());
        const Parts pieces = Parts::even(of_smaller[number].size(), each);
        for (int i = 0; i < each; ++i) to_larger.add(pieces[i].size());
    }
    return is_larger ? Cuts{to_larger, to_smaller} : Cuts{to_smaller, to_larger};
}

// Algorithm 2: all parts have the same size, or one byte more. It is also used where blocks have one size and neither group's size divides
// the other's. With subgroups of p / q ranks, rounded up or down (section 4), the sizes of the parts would differ by a block, and every
// step of the ring takes as long as the longest part.
Cuts cut_evenly(const Sides& sides, const BothBlocks& blocks) {
    return {Parts::even(blocks.other.total(), sides.own.size), Parts::even(blocks.own.total(), sides.other.size)};
}

/// A message between the groups. `range` counts in the data of the sender's group.
struct Piece {
    int peer;  ///< A member of the other group.
    Range range;
};

std::vector<Piece> pieces_of(const Range& whole, const Parts& others) {
    std::vector<Piece> pieces;
    for (int i = 0; i < others.count(); ++i)
        if (const Range range = common_part(whole, others[i]); !range.empty()) pieces.push_back({i, range});
    return pieces;
}

// The order in which a receiver takes its messages. The highest of the senders that have several receivers comes first, the lowest one
// last.
void order_by_priority(std::vector<Piece>& incoming, const Parts& blocks) {
    const auto has_several = [&](const Piece& piece) { return piece.range.size() < blocks[piece.peer].size(); };
    if (incoming.size() < 2) return;
    auto rest = incoming.begin();
    if (has_several(incoming.back())) {
        std::rotate(incoming.begin(), incoming.end() - 1, incoming.end());
        ++rest;
    }
    if (has_several(*rest)) std::rotate(rest, rest + 1, incoming.end());
}

Task exchange_pieces(Operation& op, const Sides& sides, const BothBlocks& blocks, const Cuts& cuts, transport::Bytes data,
                     std::uint64_t step) {
    const Range own = blocks.own[sides.member];
    const std::vector<Piece> outgoing = pieces_of(own, cuts.to_other);
    std::vector<Piece> incoming = pieces_of(cuts.to_own[sides.member], blocks.other);
    order_by_priority(incoming, blocks.other);

    // One message at a time in each direction, in the order of these lists.
    Pending sending, receiving;
    std::size_t sent = 0, received = 0;
    for (;;) {
        while (sending.done() && sent < outgoing.size()) {
            const auto& [peer, range] = outgoing[sent++];
            sending =
                op.send(sides.other.rank(peer), runtime::slice(op.arguments().contribution, range.begin - own.begin, range.size()), step);
        }
        while (receiving.done() && received < incoming.size()) {
            const auto& [peer, range] = incoming[received++];
            receiving = op.receive(sides.other.rank(peer), runtime::slice(data, range.begin, range.size()), step);
        }
        const bool sends = !sending.done(), receives = !receiving.done();
        if (!sends && !receives) break;
        co_await op.until([&] { return (sends && sending.done()) || (receives && receiving.done()); });
    }
}

/// The exchange between the groups, by either algorithm. Afterwards this rank has part `member` of cuts.to_own in `data`.
struct Exchanged {
    Sides sides;
    BothBlocks blocks;
    Cuts cuts;
    std::optional<Assembled> data;
};
Task exchange_between_groups(Operation& op, Exchanged& state) {
    const int own = state.sides.own.size, other = state.sides.other.size;
    const bool divides = own % other == 0 || other % own == 0;
    state.cuts = divides && !op.call().own_sizes ? cut_by_subgroups(state.sides, state.blocks) : cut_evenly(state.sides, state.blocks);
    state.data.emplace(op, state.blocks.other);
    co_await exchange_pieces(op, state.sides, state.blocks, state.cuts, state.data->bytes(), kPieces);
}

}  // namespace

Task exchange_full_duplex(Operation& op, const Sides& sides, const BothBlocks& blocks, transport::Bytes data, std::uint64_t step) {
    const Cuts cuts = cut_evenly(sides, blocks);
    co_await exchange_pieces(op, sides, blocks, cuts, data, step);
    co_await gather_all_in_ring(op, sides.own, sides.member, cuts.to_own, data, step + 1);
}

Task gather_all_full_duplex(Operation& op, const Sides& sides, const BothBlocks& blocks) {
    Exchanged state{.sides = sides, .blocks = blocks, .cuts = {}, .data = {}};
    co_await exchange_between_groups(op, state);
    co_await gather_all_in_ring(op, state.sides.own, state.sides.member, state.cuts.to_own, state.data->bytes(), kRing);
    co_await place_blocks(op, *state.data, state.blocks.other);
}

Task intergroup_allgather_full_duplex(Operation& op) {
    const Sides sides = sides_of(op);
    BothBlocks blocks;
    co_await find_blocks(op, sides, blocks);
    co_await gather_all_full_duplex(op, sides, blocks);
}

// After the exchange, the ranks of a subgroup of the larger group have one block of the smaller group, in pieces. The larger group gathers
// the pieces within each subgroup first, and then among the ranks that have the same place in their subgroups. If the ranks of a subgroup
// are on one node, the first of these two gathers stays within the nodes.
//
// Example: p = 6, q = 2, a block takes 3. After the exchange, a0..a2 complete the block of b0 in 2 steps of 1, and a3..a5 that of b1. Then
// a0 and a3, a1 and a4, a2 and a5 exchange these blocks: one step of 3.
Task intergroup_allgather_two_step(Operation& op) {
    Exchanged state{.sides = sides_of(op), .blocks = {}, .cuts = {}, .data = {}};
    co_await find_blocks(op, state.sides, state.blocks);
    co_await exchange_between_groups(op, state);
    const auto& [sides, blocks, cuts, data] = state;
    const int subgroups = sides.other.size, each = sides.own.size / subgroups;
    if (op.call().own_sizes || each < 2 || sides.own.size % subgroups != 0) {
        co_await gather_all_in_ring(op, sides.own, sides.member, cuts.to_own, data->bytes(), kRing);
    } else {
        const int subgroup = sides.member / each, place = sides.member % each;
        const Range block = blocks.other[subgroup];
        const Members near{.first = sides.own.rank(subgroup * each), .size = each};
        const Members far{.first = sides.own.rank(place), .size = subgroups, .stride = each};
        co_await gather_all_in_ring(op, near, place, Parts::even(block.size(), each),
                                    runtime::slice(data->bytes(), block.begin, block.size()), kRing);
        co_await gather_all_in_ring(op, far, subgroup, blocks.other, data->bytes(), kRing + static_cast<std::uint64_t>(each));
    }
    co_await place_blocks(op, *data, blocks.other);
}

}  // namespace rollcall::collectives
