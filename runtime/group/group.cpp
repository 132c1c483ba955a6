#include "runtime/group/group.hpp"

#include <unordered_map>

#include <fmt/format.h>

namespace rollcall::runtime {

std::string member_name(const Group& group, int member) {
    if (group.first_group == 0) return fmt::format("rank {}", member);
    const bool is_first = member < group.first_group;
    return fmt::format("rank {} of the {} group", is_first ? member : member - group.first_group, is_first ? "first" : "second");
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
