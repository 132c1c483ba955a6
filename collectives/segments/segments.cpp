#include "collectives/segments/segments.hpp"

#include <optional>

#include "collectives/segments/found_places.hpp"

namespace rollcall::collectives {
namespace {

/// A segment at the root: its place in the data, if it stands there in the order in which it is sent, otherwise memory for it.
struct RootSegment {
    transport::Bytes bytes;
    bool in_data = true;
};

/// The blocks of a child's segment at the root, without the empty ones.
std::vector<transport::Bytes> blocks_at_root(const Operation& op, const SegmentPlace& place, const SegmentPlace::Child& child) {
    std::vector<transport::Bytes> blocks;
    for (int position = child.first; position <= child.last; ++position)
        if (const auto block = block_of(op, rank_at(op, place, position)); place.in_segment(block.size) > 0) blocks.push_back(block);
    return blocks;
}

/// The data from the first block of the segment on, if the other blocks follow it there.
std::optional<transport::Bytes> side_by_side(const Operation& op, const SegmentPlace& place, const SegmentPlace::Child& child) {
    const auto begin = begin_if_contiguous(child.last - child.first + 1, [&](int number) {
        const runtime::Block block = place_of_block(op, rank_at(op, place, child.first + number));
        return runtime::Block{block.offset, place.in_segment(block.size)};
    });
    if (!begin) return std::nullopt;
    return runtime::slice(op.arguments().data, *begin, child.bytes);
}

/// Memory for the segments of those children that do not stand in the root's data in the order in which they are sent.
class RootSegments {
  public:
    RootSegments(const Operation& op, const SegmentPlace& place) {
        std::uint64_t others = 0;
        for (const SegmentPlace::Child& child : place.children) {
            const auto found = side_by_side(op, place, child);
            segments_.push_back({found.value_or(transport::Bytes()), found.has_value()});
            if (!found) others += child.bytes;
        }
        if (others == 0) return;
        scratch_.emplace(others, op.arguments().data);
        for (std::size_t i = segments_.size(); i-- > 0;)
            if (!segments_[i].in_data) {
                others -= place.children[i].bytes;
                segments_[i].bytes = runtime::slice(scratch_->bytes(), others, place.children[i].bytes);
            }
    }
    const RootSegment& operator[](std::size_t child) const { return segments_[child]; }

  private:
    std::vector<RootSegment> segments_;
    std::optional<Scratch> scratch_;
};

/// The ranks whose blocks go straight to the root, or come straight from it.
std::vector<int> straight_ranks(const Operation& op, const SegmentPlace& place) {
    std::vector<int> ranks;
    for (int rank = 0; rank < op.size(); ++rank)
        if (rank != op.root() && block_of(op, rank).size >= place.straight_from) ranks.push_back(rank);
    return ranks;
}

/// The offsets of a segment's parts in the memory for it, one behind the other in the order of positions.
struct OffsetsOfParts {
    std::uint64_t own = 0;
    std::vector<std::uint64_t> children;

    explicit OffsetsOfParts(const SegmentPlace& place) {
        const auto before = [&](int position) {
            std::uint64_t sum = place.position < position ? place.own : 0;
            for (const SegmentPlace::Child& child : place.children)
                if (child.first < position) sum += child.bytes;
            return sum;
        };
        own = before(place.position);
        for (const SegmentPlace::Child& child : place.children) children.push_back(before(child.first));
    }
};

Task gather_at_root(Operation& op, const SegmentPlace& place) {
    const RootSegments segments(op, place);
    std::vector<Pending> straight, receiving;
    for (const int rank : straight_ranks(op, place)) straight.push_back(op.receive(rank, block_of(op, rank), kStraightBlock));
    for (std::size_t i = 0; i < place.children.size(); ++i)
        receiving.push_back(place.children[i].bytes > 0 ? op.receive(place.children[i].rank, segments[i].bytes, kSegment) : Pending());
    co_await op.arrival();
    co_await copy_own(op, block_of(op, op.rank()), op.arguments().contribution);
    for (std::size_t i = 0; i < place.children.size(); ++i) {
        co_await receiving[i];
        if (segments[i].in_data) continue;
        std::uint64_t at = 0;
        for (const auto block : blocks_at_root(op, place, place.children[i])) {
            co_await op.copy(block, runtime::slice(segments[i].bytes, at, block.size));
            at += block.size;
        }
    }
    co_await op.all_of(straight);
}

Task scatter_at_root(Operation& op, const SegmentPlace& place) {
    const RootSegments segments(op, place);
    co_await op.arrival();
    Pending sent;
    for (std::size_t i = place.children.size(); i-- > 0;) {
        if (place.children[i].bytes == 0) continue;
        std::uint64_t at = 0;
        if (!segments[i].in_data)
            for (const auto block : blocks_at_root(op, place, place.children[i])) {
                co_await op.copy(runtime::slice(segments[i].bytes, at, block.size), block);
                at += block.size;
            }
        co_await sent;  // the next segment is put together while this one is on its way
        sent = op.send(place.children[i].rank, segments[i].bytes, kSegment);
    }
    for (const int rank : straight_ranks(op, place)) {
        co_await sent;
        sent = op.send(rank, block_of(op, rank), kStraightBlock);
    }
    co_await sent;
    co_await copy_own(op, op.arguments().result, block_of(op, op.rank()));
}

}  // namespace

Task gather_segments(Operation& op, const SegmentPlace& place) {
    if (op.rank() == op.root()) {
        co_await gather_at_root(op, place);
        co_return;
    }
    const auto contribution = op.arguments().contribution;
    const auto send_straight = [&] {
        return contribution.size >= place.straight_from ? op.send(op.root(), contribution, kStraightBlock) : Pending();
    };
    Pending straight;
    const std::uint64_t bytes = place.bytes();
    if (bytes == place.own) {
        co_await op.arrival();
        straight = send_straight();
        if (bytes > 0) co_await op.send(place.parent, contribution, kSegment);
    } else {
        const Scratch scratch(bytes, contribution);
        const OffsetsOfParts parts(place);
        std::vector<Pending> receiving;
        for (std::size_t i = 0; i < place.children.size(); ++i)
            if (const auto& child = place.children[i]; child.bytes > 0)
                receiving.push_back(op.receive(child.rank, runtime::slice(scratch.bytes(), parts.children[i], child.bytes), kSegment));
        co_await op.arrival();
        straight = send_straight();
        if (place.own > 0) co_await op.copy(runtime::slice(scratch.bytes(), parts.own, place.own), contribution);
        co_await op.all_of(receiving);
        co_await op.send(place.parent, scratch.bytes(), kSegment);
    }
    co_await straight;
}

Task scatter_segments(Operation& op, const SegmentPlace& place) {
    if (op.rank() == op.root()) {
        co_await scatter_at_root(op, place);
        co_return;
    }
    const auto result = op.arguments().result;
    Pending straight;
    if (result.size >= place.straight_from) straight = op.receive(op.root(), result, kStraightBlock);
    const std::uint64_t bytes = place.bytes();
    if (bytes == place.own) {
        if (bytes > 0) co_await op.receive(place.parent, result, kSegment);
    } else {
        const Scratch scratch(bytes, result);
        const OffsetsOfParts parts(place);
        co_await op.receive(place.parent, scratch.bytes(), kSegment);
        for (std::size_t i = place.children.size(); i-- > 0;)
            if (const auto& child = place.children[i]; child.bytes > 0)
                co_await op.send(child.rank, runtime::slice(scratch.bytes(), parts.children[i], child.bytes), kSegment);
        if (place.own > 0) co_await op.copy(result, runtime::slice(scratch.bytes(), parts.own, place.own));
    }
    co_await straight;
}

}  // namespace rollcall::collectives
