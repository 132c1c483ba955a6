#include "collectives/trees/hosts.hpp"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace rollcall::collectives {
namespace {

// The place of members[position] in ranks, with the first member as the root.
TreePlace place_among(const std::vector<int>& members, int position) {
    TreePlace place = binomial_tree(static_cast<int>(members.size()), 0, position);
    const auto rank_of = [&](int at) { return members[static_cast<std::size_t>(at)]; };
    if (place.parent >= 0) place.parent = rank_of(place.parent);
    for (int& child : place.children) child = rank_of(child);
    return place;
}

}  // namespace

HostTreePlace host_tree(std::span<const int> host_of, int rank) {
    std::unordered_set<int> known;
    std::vector<int> first_ranks, neighbours;
    for (int other = 0; other < static_cast<int>(host_of.size()); ++other) {
        const int host = host_of[static_cast<std::size_t>(other)];
        if (known.insert(host).second) first_ranks.push_back(other);
        if (host == host_of[static_cast<std::size_t>(rank)]) neighbours.push_back(other);
    }
    const auto position_in = [&](const std::vector<int>& ranks) {
        return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
    };
    HostTreePlace place;
    place.within = place_among(neighbours, position_in(neighbours));
    if (neighbours.front() == rank) place.hosts = place_among(first_ranks, position_in(first_ranks));
    return place;
}

int count_hosts(std::span<const int> host_of) { return static_cast<int>(std::unordered_set<int>(host_of.begin(), host_of.end()).size()); }

}  // namespace rollcall::collectives
