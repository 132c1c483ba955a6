#include "runtime/group/group.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

namespace rollcall::runtime {

std::string member_name(const Group& group, int member) {
    if (group.first_group == 0) return fmt::format("rank {}", member);
    const bool is_first = member < group.first_group;
    return fmt::format("rank {} of the {} group", is_first ? member : member - group.first_group, is_first ? "first" : "second");
}

int Group::rank_of(int world_rank) const noexcept {
    if (world.empty()) return world_rank < size ? world_rank : -1;
    if (by_world.empty()) {
        const auto found = std::ranges::lower_bound(world, world_rank);
        return found != world.end() && *found == world_rank ? static_cast<int>(found - world.begin()) : -1;
    }
    const auto found = std::ranges::lower_bound(by_world, world_rank, {}, [this](int rank) { return this->world_rank(rank); });
    return found != by_world.end() && this->world_rank(*found) == world_rank ? *found : -1;
}

void sort_members(Group& group) {
    group.by_world.clear();
    if (std::ranges::is_sorted(group.world)) return;
    group.by_world.resize(group.world.size());
    std::iota(group.by_world.begin(), group.by_world.end(), 0);
    std::ranges::sort(group.by_world, {}, [&](int rank) { return group.world_rank(rank); });
}

bool are_even(const Nodes* nodes) {
    if (!nodes) return false;
    const auto [fewest, most] = std::ranges::minmax(nodes->members, {}, &std::vector<int>::size);
    return 2 * fewest.size() >= most.size();
}

void find_nodes(Group& group, std::span<const int> sharing) {
    group.nodes = nullptr;
    group.on_one_node = false;
    if (!group.has_slots) return;
    Nodes nodes;
    std::unordered_map<int, int> node_of;
    for (int member = 0; member < group.size; ++member) {
        const int first = sharing[static_cast<std::size_t>(group.world_rank(member))];
        const auto [found, is_new] = node_of.try_emplace(first, static_cast<int>(nodes.members.size()));
        if (is_new) nodes.members.emplace_back();
        nodes.of.push_back(found->second);
        nodes.members[static_cast<std::size_t>(found->second)].push_back(member);
    }
    group.on_one_node = nodes.members.size() == 1;
    if (nodes.members.size() > 1 && nodes.members.size() < nodes.of.size()) group.nodes = std::make_shared<const Nodes>(std::move(nodes));
}

}  // namespace rollcall::runtime
