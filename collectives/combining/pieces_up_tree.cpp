#include "collectives/combining/pieces_up_tree.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "collectives/pieces.hpp"

namespace rollcall::collectives {
namespace {

constexpr std::size_t kMostChildren = 2;

/// This rank's place in the tree, and the pieces.
struct Way {
    Way(const Operation& op, const TreePlace& place)
        : pieces(op, op.arguments().contribution.size, whole_segment(op.arguments().combiner, op.arguments().segment_bytes)),
          children(place.children),
          next(place.parent),
          goes_across(place.parent < 0 && op.rank() != op.root()) {
        if (goes_across) next = op.root();
    }
    /// The step of a piece on its way to the next rank. If the tree ends at rank 0 and not at the root, the root receives pieces from its
    /// children and from rank 0.
    std::uint64_t step_to_next(std::uint64_t number) const { return goes_across ? step_across(number) : number; }
    std::uint64_t step_across(std::uint64_t number) const { return pieces.count() + number; }

    Pieces pieces;
    std::vector<int> children;
    int next;  ///< -1: there is none.
    bool goes_across;
};

/// What the children bring while the caller is away.
struct Brought {
    std::array<transport::Bytes, kMostChildren> elements;
    std::array<std::vector<Pending>, kMostChildren> incoming;
};

// A piece of all children stands with those of the first one.
Task combine_children(Operation& op, const Way& way, Brought& brought, std::uint64_t number) {
    const auto piece = way.pieces.of(brought.elements[0], number);
    co_await brought.incoming[0][number];
    if (way.children.size() < kMostChildren) co_return;
    co_await brought.incoming[1][number];
    co_await op.combine(piece, piece, way.pieces.of(brought.elements[1], number));
}

// The part of a rank whose caller has not come.
Task collect_before_caller(Operation& op, const Way& way) {
    const Pieces& pieces = way.pieces;
    const auto contribution = op.arguments().contribution;
    Brought brought;
    for (std::size_t child = 0; child < way.children.size(); ++child) {
        brought.elements[child] = runtime::slice(op.arguments().data, child * contribution.size, contribution.size);
        for (std::uint64_t number = 0; number < pieces.count(); ++number)
            brought.incoming[child].push_back(op.receive(way.children[child], pieces.of(brought.elements[child], number), number));
    }
    // What two children bring is combined before the caller comes. When it comes, the pieces that are complete are passed on.
    std::uint64_t combined = 0;
    if (way.children.size() == kMostChildren)
        for (; combined < pieces.count() && !op.has_arrived(); ++combined) co_await combine_children(op, way, brought, combined);
    co_await op.arrival();
    std::array<Pending, Pieces::kMostAtOnce> outgoing;
    for (std::uint64_t number = 0; number < pieces.count(); ++number) {
        if (number >= combined) co_await combine_children(op, way, brought, number);
        const auto piece = pieces.of(brought.elements[0], number);
        co_await op.combine(piece, pieces.of(contribution, number), piece);
        co_await outgoing[pieces.at(number)];
        outgoing[pieces.at(number)] = op.send(way.next, piece, way.step_to_next(number));
    }
    co_await op.all_of(outgoing);
}

}  // namespace

Task combine_pieces_up_tree(Operation& op, TreePlace place) {
    const auto contribution = op.arguments().contribution;
    const auto data = op.arguments().data;
    if (op.size() == 1) {
        co_await copy_own(op, data, contribution);
        co_return;
    }
    const Way way(op, place);
    const Pieces& pieces = way.pieces;
    if (!op.has_arrived()) {
        co_await collect_before_caller(op, way);
        co_return;
    }
    std::vector<Pending> across;
    if (op.rank() == op.root() && place.parent >= 0)
        for (std::uint64_t number = 0; number < pieces.count(); ++number)
            across.push_back(op.receive(top_of(op), pieces.of(data, number), way.step_across(number)));

    const std::uint64_t room_of_child = pieces.room(), room = way.children.size() * room_of_child;
    const bool has_room = op.rank() != op.root() && data.size >= room;  // without a caller, there is memory for it
    const Scratch scratch(has_room ? 0 : room, contribution);
    const auto memory = has_room ? data : scratch.bytes();
    std::array<std::array<Pending, Pieces::kMostAtOnce>, kMostChildren> incoming;
    std::array<Pending, Pieces::kMostAtOnce> outgoing;
    const auto slot = [&](std::size_t child, std::uint64_t number) {
        return pieces.slot(runtime::slice(memory, child * room_of_child, room_of_child), number);
    };
    std::uint64_t posted = 0;
    for (std::uint64_t number = 0; number < pieces.count(); ++number) {
        auto piece = pieces.of(contribution, number);
        if (!way.children.empty()) {
            for (; posted < std::min(pieces.count(), number + pieces.window()); ++posted) {
                co_await outgoing[pieces.at(posted)];  // the piece that was in this slot before has left
                for (std::size_t child = 0; child < way.children.size(); ++child)
                    incoming[child][pieces.at(posted)] = op.receive(way.children[child], slot(child, posted), posted);
            }
            const transport::Bytes into = way.next < 0 ? pieces.of(data, number) : slot(0, number);
            for (std::size_t child = 0; child < way.children.size(); ++child) {
                co_await incoming[child][pieces.at(number)];
                co_await op.combine(into, piece, slot(child, number));
                piece = into;
            }
        }
        if (way.next < 0) continue;
        co_await outgoing[pieces.at(number)];
        outgoing[pieces.at(number)] = op.send(way.next, piece, way.step_to_next(number));
    }
    co_await op.all_of(outgoing);
    co_await op.all_of(across);
}

}  // namespace rollcall::collectives
