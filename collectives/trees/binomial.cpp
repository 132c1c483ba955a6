#include "collectives/trees/binomial.hpp"

#include <bit>

namespace rollcall::collectives {

TreePlace binomial_tree(int n, int root, int rank) {
    const auto actual = [&](int v) { return static_cast<int>((static_cast<long long>(v) + root) % n); };
    const int v = (rank - root + n) % n;
    TreePlace place;
    if (v > 0) place.parent = actual(v - static_cast<int>(std::bit_floor(static_cast<unsigned>(v))));
    // long long, because the last power of two that is looked at may exceed int.
    for (long long bit = v == 0 ? 1 : 2LL * static_cast<long long>(std::bit_floor(static_cast<unsigned>(v))); v + bit < n; bit *= 2)
        place.children.push_back(actual(static_cast<int>(v + bit)));
    return place;
}

}  // namespace rollcall::collectives
