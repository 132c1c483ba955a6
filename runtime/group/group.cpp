#include "runtime/group/group.hpp"

#include <unordered_map>

namespace rollcall::runtime {

void find_nodes(Group& group, std::span<const int> sharing) {
    group.nodes = nullptr;
    if (!group.has_slots || group.first_group > 0) return;
    Nodes nodes;
    std::unordered_map<int, int> node_of;
    for (int member = 0; member < group.size; ++member) {
        const int first = sharing[static_cast<std::size_t>(group.world_rank(member))];
        const auto [found, is_new] = node_of.try_emplace(first, static_cast<int>(nodes.members.size()));
        if (is_new) nodes.members.emplace_back();
        nodes.of.push_back(found->second);
        nodes.members[static_cast<std::size_t>(found->second)].push_back(member);
    }
    if (nodes.members.size() > 1 && nodes.members.size() < nodes.of.size()) group.nodes = std::make_shared<const Nodes>(std::move(nodes));
}

}  // namespace rollcall::runtime
