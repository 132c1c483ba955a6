#include "collectives/trees/halving.hpp"

#include <algorithm>
#include <bit>

namespace rollcall::collectives {
namespace {

// `rank_at` gives the rank at a position, `count_in` the number of ranks in a range of positions. The numbers have 64 bits, because ranges
// may end beyond int.
template <class RankAt, class CountIn>
HalvingPlace place_at(long long slots, long long position, RankAt rank_at, CountIn count_in) {
    const long long span = position ? position & -position : slots;
    HalvingPlace place;
    if (position) place.parent = rank_at(position - span);
    place.blocks = count_in(position, position + span);
    for (long long half = span / 2; half > 0; half /= 2)
        if (const int blocks = count_in(position + half, position + 2 * half); blocks > 0)
            place.children.push_back({rank_at(position + half), blocks});
    return place;
}

}  // namespace

HalvingPlace halving_place(std::span<const int> rank_at, int position) {
    return place_at(
        static_cast<long long>(rank_at.size()), position, [&](long long p) { return rank_at[static_cast<std::size_t>(p)]; },
        [&](long long first, long long last) {
            return static_cast<int>(std::count_if(rank_at.begin() + first, rank_at.begin() + last, [](int rank) { return rank >= 0; }));
        });
}

HalvingPlace halving_place(int n, int root, int rank) {
    return place_at(
        static_cast<long long>(std::bit_ceil(static_cast<unsigned>(n))), (static_cast<long long>(rank) - root + n) % n,
        [&](long long p) { return static_cast<int>((p + root) % n); },
        [&](long long first, long long last) { return static_cast<int>(std::max(0ll, std::min<long long>(last, n) - first)); });
}

std::vector<int> arrange_by_order(std::span<const int> order) {
    const std::size_t slots = std::bit_ceil(order.size());
    std::vector<int> rank_at(slots, -1);
    std::size_t position = 0;
    for (const int rank : order) {
        rank_at[position] = rank;
        // Adds 1 to the number whose bits are reversed: the carry runs downwards.
        std::size_t bit = slots / 2;
        for (; position & bit; bit /= 2) position ^= bit;
        position |= bit;
    }
    return rank_at;
}

}  // namespace rollcall::collectives
