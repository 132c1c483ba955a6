#include "collectives/arrivals/places.hpp"

#include <bit>
#include <numeric>

#include "collectives/arrivals/roster.hpp"

namespace rollcall::collectives {
namespace {

// Words of the message: parent, blocks, then the rank and the blocks of each child.
constexpr std::size_t kParent = 0, kBlocks = 1, kFirstChild = 2, kWordsOfAChild = 2;

transport::Bytes bytes_of(std::span<std::int32_t> words) { return {words.data(), words.size_bytes()}; }

Task decide_places(Operation& op, Nearest nearest, Places& places) {
    runtime::Arrivals& arrivals = op.arrivals();
    Roster roster(op.size(), op.root());
    co_await op.until([&] {
        roster.update(arrivals);
        return roster.all_known() || op.has_arrived();
    });
    std::vector<int> by_arrival;
    while (!roster.empty()) by_arrival.push_back(roster.take());
    std::vector<int> order(1, op.root());
    if (nearest == Nearest::earliest)
        order.insert(order.end(), by_arrival.begin(), by_arrival.end());
    else
        order.insert(order.end(), by_arrival.rbegin(), by_arrival.rend());
    const std::vector<int> rank_at = arrange_by_order(order);
    std::vector<int> position_of(rank_at.size());
    for (std::size_t position = 0; position < rank_at.size(); ++position) {
        if (rank_at[position] < 0) continue;
        position_of[static_cast<std::size_t>(rank_at[position])] = static_cast<int>(position);
        places.ranks.push_back(rank_at[position]);
    }
    places.own = halving_place(rank_at, 0);

    // Tell the rank that arrives first first: it acts first, near the root in a scatter and far from the root in a gather.
    std::vector<std::size_t> ends;
    for (const int rank : by_arrival) {
        const HalvingPlace place = halving_place(rank_at, position_of[static_cast<std::size_t>(rank)]);
        places.told.insert(places.told.end(), {place.parent, place.blocks});
        for (const auto& child : place.children) places.told.insert(places.told.end(), {child.rank, child.blocks});
        ends.push_back(places.told.size());
    }
    std::size_t begin = 0;
    for (std::size_t i = 0; i < by_arrival.size(); ++i) {
        const auto words = std::span(places.told).subspan(begin, ends[i] - begin);
        places.telling.push_back(op.send(by_arrival[i], bytes_of(words), kTreePlace));
        begin = ends[i];
    }
}

Task learn_place(Operation& op, HalvingPlace& place) {
    std::vector<std::int32_t> words(kFirstChild +
                                    kWordsOfAChild * static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(op.size()))));
    const Pending telling = op.receive(op.root(), bytes_of(words), kTreePlace);
    co_await announce_to_root(op, &telling);
    const std::uint64_t received = co_await telling;
    place.parent = words[kParent];
    place.blocks = words[kBlocks];
    for (std::size_t word = kFirstChild; word < received / sizeof(words[0]); word += kWordsOfAChild)
        place.children.push_back({words[word], words[word + 1]});
}

}  // namespace

Places places_by_rank(const Operation& op, int root) {
    Places places;
    places.own = halving_place(op.size(), root, op.rank());
    if (op.rank() == root) {
        places.ranks.resize(static_cast<std::size_t>(op.size()));
        std::iota(places.ranks.begin(), places.ranks.end(), root);
        for (int& rank : places.ranks) rank %= op.size();
    }
    return places;
}

Task places_by_arrival(Operation& op, Nearest nearest, Places& places) {
    if (op.rank() == op.root())
        co_await decide_places(op, nearest, places);
    else
        co_await learn_place(op, places.own);
}

}  // namespace rollcall::collectives
