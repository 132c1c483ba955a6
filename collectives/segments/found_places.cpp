#include "collectives/segments/found_places.hpp"

#include "collectives/segments/tree_costs.hpp"
#include "collectives/trees/adaptive.hpp"
#include "collectives/trees/halving.hpp"

namespace rollcall::collectives {
namespace {

using runtime::weight_of;

template <class Message>
transport::Bytes bytes_of_message(Message& message) {
    return {&message, sizeof message};
}

// Runs at the root. Checks whether what the ranks at these positions say of their blocks agrees with what the root counts. If it does not,
// all ranks are told. Returns whether it agrees.
bool check_sums(Operation& op, const SegmentPlace& place, int first, int last, const BlockSums& told) {
    BlockSums counted;
    for (int position = first; position <= last; ++position) {
        const std::uint64_t size = block_of(op, rank_at(op, place, position)).size;
        counted.add(rank_at(op, place, position), size, place.in_segment(size));
    }
    const std::uint64_t more = told.bytes - counted.bytes, check = told.check - counted.check;
    if (more == 0 && check == 0) return true;
    for (int position = first; position <= last; ++position)
        if (const int rank = rank_at(op, place, position); more * weight_of(rank) == check) {
            const std::uint64_t size = block_of(op, rank).size;
            op.tell_sizes_differ(rank, size, size + more);
            return false;
        }
    op.tell_sizes_differ(rank_at(op, place, first), rank_at(op, place, last), counted.bytes, told.bytes);
    return false;
}

/// A rank's place in the halving tree in the order of ranks, from the root on, without the sizes. The nearest and smallest child comes
/// first.
struct BinomialPlace {
    BinomialPlace(const Operation& op, SegmentPlace& place) {
        const HalvingPlace halving = halving_place(op.size(), op.root(), op.rank());
        const auto position_of = [&](int rank) {
            return static_cast<int>((static_cast<long long>(rank) - op.root() + op.size()) % op.size());
        };
        place.parent = halving.parent;
        place.first_rank = op.root();
        place.position = position_of(op.rank());
        place.own = own_size(op);
        ranks = halving.blocks;
        for (std::size_t i = halving.children.size(); i-- > 0;) {
            const auto& [child, blocks] = halving.children[i];
            children.push_back({child, position_of(child), position_of(child) + blocks - 1, 0});
        }
    }
    int ranks;  ///< Number of ranks in its segment.
    std::vector<SegmentPlace::Child> children;
};

/// What the ranks that speak for two segments tell each other, and then tell their own roots of the other segment.
struct SegmentWord {
    BlockSums sums;
    std::int32_t root;
    std::int32_t receives;  ///< In a message to a root: whether it is the root that receives.
};
static_assert(sizeof(SegmentWord) == 32, "it travels: without padding");

}  // namespace

std::uint64_t own_size(const Operation& op) {
    const runtime::Arguments& arguments = op.arguments();
    return op.call().kind == OperationKind::gather ? arguments.contribution.size : arguments.result.size;
}

void BlockSums::add(int rank, std::uint64_t size, std::uint64_t size_in_segment) {
    in_segment += size_in_segment;
    bytes += size;
    check += weight_of(rank) * size;
}

void BlockSums::add(const BlockSums& other) {
    in_segment += other.in_segment;
    bytes += other.bytes;
    check += other.check;
}

Task binomial_gather_place(Operation& op, SegmentPlace& place) {
    const BinomialPlace binomial(op, place);
    std::vector<BlockSums> told(binomial.children.size());
    std::vector<Pending> telling;
    for (std::size_t i = 0; i < told.size(); ++i)
        telling.push_back(op.receive(binomial.children[i].rank, bytes_of_message(told[i]), kSums));
    BlockSums sums;
    sums.add(op.rank(), place.own, place.own);
    for (std::size_t i = 0; i < told.size(); ++i) {
        co_await telling[i];
        const auto& child = binomial.children[i];
        if (place.parent < 0 && !check_sums(op, place, child.first, child.last, told[i])) co_await op.failure();
        place.children.push_back(child);
        place.children.back().bytes = told[i].in_segment;
        sums.add(told[i]);
    }
    if (place.parent >= 0) co_await op.send(place.parent, bytes_of_message(sums), kSums);
}

Task binomial_scatter_place(Operation& op, SegmentPlace& place) {
    const BinomialPlace binomial(op, place);
    // By position, from this rank's own position on.
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(binomial.ranks));
    if (place.parent < 0) {
        for (std::size_t position = 0; position < sizes.size(); ++position)
            sizes[position] = block_of(op, rank_at(op, place, static_cast<int>(position))).size;
    } else {
        co_await op.receive(place.parent, {sizes.data(), sizes.size() * sizeof sizes[0]}, kSums);
        if (sizes[0] != place.own) {
            op.tell_sizes_differ(op.root(), sizes[0], place.own);
            co_await op.failure();
        }
    }
    std::vector<Pending> telling;
    // The farthest and largest child is told first, because it is also the first to be sent its blocks.
    for (std::size_t i = binomial.children.size(); i-- > 0;) {
        const auto& child = binomial.children[i];
        const auto theirs = std::span(sizes).subspan(static_cast<std::size_t>(child.first - place.position),
                                                     static_cast<std::size_t>(child.last - child.first) + 1);
        telling.push_back(op.send(child.rank, {theirs.data(), theirs.size_bytes()}, kSums));
    }
    for (SegmentPlace::Child child : binomial.children) {
        for (int position = child.first; position <= child.last; ++position)
            child.bytes += sizes[static_cast<std::size_t>(position - place.position)];
        place.children.push_back(child);
    }
    co_await op.all_of(telling);
}

Task adaptive_place(Operation& op, SegmentPlace& place) {
    const int n = op.size(), rank = op.rank();
    place.position = rank;
    place.straight_from = straight_from(op.costs());
    place.own = place.in_segment(own_size(op));
    SegmentWord mine{.sums = {}, .root = rank, .receives = 0}, other{}, told{};
    mine.sums.add(rank, own_size(op), place.own);
    bool is_root = true;  // the root of its segment
    for (long long length = 1, round = 0; length < n; length *= 2, ++round) {
        const auto first = static_cast<int>(rank / length * length);  // the first rank of its segment, which speaks for it
        const bool is_lower = first / length % 2 == 0;
        const long long other_first = is_lower ? first + length : first - length;
        if (other_first >= n) continue;
        const auto speaker = static_cast<int>(other_first), other_last = static_cast<int>(std::min<long long>(other_first + length, n)) - 1;
        const auto step = kRounds + 2 * static_cast<std::uint64_t>(round);
        if (rank == first) {
            const Pending receiving = op.receive(speaker, bytes_of_message(other), step);
            co_await op.send(speaker, bytes_of_message(mine), step);
            co_await receiving;
            const auto holds_root = [&](int from) { return from <= op.root() && op.root() < from + length; };
            const SegmentWord &lower = is_lower ? mine : other, &upper = is_lower ? other : mine;
            const bool into_lower =
                holds_root(is_lower ? first : speaker) ||
                (!holds_root(is_lower ? speaker : first) && lower_receives(lower.sums.in_segment, upper.sums.in_segment));
            told = other;
            told.receives = into_lower == is_lower;
            if (mine.root != rank) co_await op.send(mine.root, bytes_of_message(told), step + 1);
            mine.root = into_lower ? lower.root : upper.root;
            mine.sums.add(other.sums);
        }
        if (is_root) {
            if (rank != first) co_await op.receive(first, bytes_of_message(told), step + 1);
            if (!told.receives) {
                place.parent = told.root;
                is_root = false;
            } else {
                if (rank == op.root() && !check_sums(op, place, speaker, other_last, told.sums)) co_await op.failure();
                place.children.push_back({told.root, speaker, other_last, told.sums.in_segment});
            }
        }
        // The rank that spoke for the lower segment goes on for both. A rank that neither speaks nor is the root of a segment is done.
        if (!is_root && (rank != first || !is_lower)) co_return;
    }
}

}  // namespace rollcall::collectives
