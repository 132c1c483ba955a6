#include "collectives/scatter/tree.hpp"

#include <optional>

namespace rollcall::collectives {
namespace {

Task from_root(Operation& op, const Places& places, transport::Bytes data, transport::Bytes result, std::uint64_t step) {
    std::optional<Scratch> shuffled;  // for blocks that are not side by side in the data
    Pending sent;
    auto first = static_cast<std::size_t>(places.own.blocks);
    for (const auto& [child, count] : places.own.children) {
        first -= static_cast<std::size_t>(count);
        const auto ranks = std::span(places.ranks).subspan(first, static_cast<std::size_t>(count));
        auto blocks = blocks_of(data, result.size, static_cast<std::size_t>(ranks[0]), ranks.size());
        if (consecutive(ranks) < ranks.size()) {
            if (!shuffled) shuffled.emplace(result.size * places.ranks.size(), data);
            blocks = blocks_of(shuffled->bytes(), result.size, first, ranks.size());
            co_await copy_runs(op, result.size, ranks, blocks, data, Copy::into_list);
        }
        co_await sent;  // the blocks of this child were put in order while those of the last one were on their way
        sent = op.send(child, blocks, step);
    }
    co_await sent;
    co_await copy_own(op, result, blocks_of(data, result.size, static_cast<std::size_t>(op.rank()), 1));
}

Task below_root(Operation& op, const HalvingPlace& place, transport::Bytes result, std::uint64_t step) {
    if (place.children.empty()) {
        co_await op.receive(place.parent, result, step);
        co_return;
    }
    auto first = static_cast<std::size_t>(place.blocks);
    // If this part runs without its caller, `data` is memory for these blocks, which counts in the landing budget.
    const transport::Bytes given = op.arguments().data;
    const bool is_given = given.size == result.size * first;
    const Scratch scratch(is_given ? 0 : result.size * first, result);
    const transport::Bytes received = is_given ? given : scratch.bytes();
    co_await op.receive(place.parent, received, step);
    for (const auto& [child, count] : place.children) {
        first -= static_cast<std::size_t>(count);
        co_await op.send(child, blocks_of(received, result.size, first, static_cast<std::size_t>(count)), step);
    }
    co_await op.copy(result, blocks_of(received, result.size, 0, 1));
}

}  // namespace

Task scatter_tree(Operation& op, const Places& places, transport::Bytes data, transport::Bytes result, std::uint64_t step) {
    if (places.own.parent < 0)
        co_await from_root(op, places, data, result, step);
    else
        co_await below_root(op, places.own, result, step);
}

Task scatter_sorted_tree(Operation& op, bool background) {
    Places places;
    co_await places_by_arrival(op, Nearest::earliest, places);
    if (!background || op.rank() == op.root()) co_await op.arrival();
    co_await scatter_tree(op, places);
    co_await op.all_of(places.telling);
}

}  // namespace rollcall::collectives
