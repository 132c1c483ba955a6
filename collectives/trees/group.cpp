#include "collectives/trees/group.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rollcall::collectives {
namespace {

// A pipeline of X pieces takes (each X + fill) piece times.
GroupWay pipeline(GroupForm form, std::uint64_t m, double a, double each, double fill) {
    const auto bytes = static_cast<double>(m);
    const double best = std::sqrt(std::max(fill, 0.0) * bytes / (each * a));
    const auto pieces = static_cast<std::uint64_t>(std::clamp(std::round(best), 1.0, std::max(bytes, 1.0)));
    const auto X = static_cast<double>(pieces);
    return {form, (m + pieces - 1) / pieces, (each * X + fill) * (a + bytes / X)};
}

// The largest delay in the binary tree of the ranks 1 .. last, in piece times. The bits of a rank's number behind the first one say which
// child it is on the way from rank 1 to it: 0 the first one, 1 the second one.
int binary_delay(unsigned last) {
    const auto delay = [](unsigned v) { return static_cast<int>(std::bit_width(v)) + std::popcount(v) - 2; };
    int largest = delay(last);
    // The other candidates agree with `last` down to a 1, have a 0 there, and only ones behind it.
    for (unsigned bit = 1; bit < std::bit_floor(last); bit *= 2)
        if (last & bit) largest = std::max(largest, delay((last & ~bit) | (bit - 1)));
    return std::max(largest, delay(std::bit_floor(last) - 1));
}

}  // namespace

GroupWay fastest_group_way(int n, std::uint64_t m, double a) {
    const auto bytes = static_cast<double>(m), ranks = static_cast<double>(n);
    const double steps = std::bit_width(static_cast<unsigned>(n - 1));
    GroupWay best{GroupForm::binomial, 0, steps * (a + bytes)};
    if (n == 2 || m == 0) return best;
    const double delay = binary_delay(static_cast<unsigned>(n - 1));
    const GroupWay others[] = {
        pipeline(GroupForm::chain, m, a, 1, ranks - 2),
        pipeline(GroupForm::binary, m, a, 2, delay - 1),
        {GroupForm::scatter_ring, 0, steps * a + bytes + (ranks - 2) * (a + bytes / (ranks - 1))},
    };
    for (const GroupWay& other : others)
        if (other.cost < best.cost) best = other;
    return best;
}

GroupWay group_way(int n, std::uint64_t m, std::uint64_t segment) {
    if (m <= segment) return {GroupForm::binomial, 0};
    const std::uint64_t pieces = (m + segment - 1) / segment;
    return {static_cast<std::uint64_t>(n - 1) <= pieces ? GroupForm::chain : GroupForm::binary, segment};
}

TreePlace group_place(GroupForm form, int n, int v) {
    if (form == GroupForm::binomial) return binomial_tree(n, 0, v);
    const int width = form == GroupForm::chain || v == 0 ? 1 : 2;
    TreePlace place;
    if (v > 0) place.parent = form == GroupForm::chain ? v - 1 : v / 2;
    const long long first = form == GroupForm::chain || v == 0 ? v + 1LL : 2LL * v;
    for (long long child = first; child < std::min<long long>(first + width, n); ++child) place.children.push_back(static_cast<int>(child));
    return place;
}

}  // namespace rollcall::collectives
