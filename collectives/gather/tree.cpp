#include "collectives/gather/tree.hpp"

#include <optional>
#include <vector>

namespace rollcall::collectives {
namespace {

/// What comes from one child.
struct ChildPart {
    int child = -1;
    transport::Bytes into = {};
    std::span<const int> to_shuffle = {};  ///< At the root: the ranks whose blocks are not side by side in the data. Else empty.
};

}  // namespace

Task gather_tree(Operation& op, const Places& places, bool background) {
    const auto data = op.arguments().data;
    const auto contribution = op.arguments().contribution;
    const std::uint64_t bytes = contribution.size;
    const HalvingPlace& place = places.own;
    const bool root = op.rank() == op.root();
    if (!background) co_await op.arrival();
    if (!root && place.children.empty()) {
        co_await op.arrival();
        co_await op.send(place.parent, contribution, kTreeBlocks);
        co_return;
    }

    // The blocks of the subtree in the order of positions. At the root, blocks that are side by side in the data, too, are received there
    // directly.
    std::optional<Scratch> scratch;
    transport::Bytes collected = root ? transport::Bytes() : data;  // without a caller, there is memory for it
    std::vector<ChildPart> parts(place.children.size());
    auto first = static_cast<std::size_t>(place.blocks);
    for (std::size_t i = parts.size(); i-- > 0;) {
        const auto& [child, blocks] = place.children[parts.size() - 1 - i];
        const auto count = static_cast<std::size_t>(blocks);
        first -= count;
        const auto ranks = root ? std::span(places.ranks).subspan(first, count) : std::span<const int>();
        parts[i].child = child;
        if (root && consecutive(ranks) == count) {
            parts[i].into = blocks_of(data, bytes, static_cast<std::size_t>(ranks[0]), count);
            continue;
        }
        if (collected.size == 0) {
            scratch.emplace(bytes * static_cast<std::size_t>(place.blocks), root ? data : contribution);
            collected = scratch->bytes();
        }
        parts[i].into = blocks_of(collected, bytes, first, count);
        parts[i].to_shuffle = ranks;
    }

    std::vector<Pending> receiving;
    const auto receive_from = [&](const ChildPart& part) { receiving.push_back(op.receive(part.child, part.into, kTreeBlocks)); };
    if (background)
        for (const ChildPart& part : parts) receive_from(part);
    if (!root) {
        co_await op.arrival();
        co_await op.copy(blocks_of(collected, bytes, 0, 1), contribution);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (!background) receive_from(parts[i]);
        co_await receiving[i];
        if (!parts[i].to_shuffle.empty()) co_await copy_runs(op, bytes, parts[i].to_shuffle, parts[i].into, data, Copy::out_of_list);
    }
    if (root) {
        co_await op.arrival();
        co_await copy_own(op, block_of(op, op.rank()), contribution);
    } else {
        co_await op.send(place.parent, collected, kTreeBlocks);
    }
}

Task gather_sorted_tree(Operation& op, bool background) {
    Places places;
    co_await places_by_arrival(op, Nearest::latest, places);
    co_await gather_tree(op, places, background);
    co_await op.all_of(places.telling);
}

}  // namespace rollcall::collectives
