#include "collectives/trees/block_tree.hpp"

#include <algorithm>

namespace rollcall::collectives {

std::vector<int> children_first(const BlockTree& tree) {
    std::vector<int> ranks(1, tree.root);
    for (std::size_t next = 0; next < ranks.size(); ++next) {
        const auto& children = tree.node(ranks[next]).children;
        ranks.insert(ranks.end(), children.begin(), children.end());
    }
    std::reverse(ranks.begin(), ranks.end());
    return ranks;
}

int BlockTree::add_part(const BlockTree& part, std::span<const int> ranks) {
    const auto named = [&](int at) { return at < 0 ? at : ranks[static_cast<std::size_t>(at)]; };
    for (int at = 0; at < part.ranks(); ++at) {
        BlockTreeNode& its = node(named(at));
        its = part.node(at);
        its.parent = named(its.parent);
        for (int& child : its.children) child = named(child);
    }
    return named(part.root);
}

BlockTree in_order(const BlockTree& tree, std::span<const int> order) {
    BlockTree result(tree.ranks());
    result.root = result.add_part(tree, order);
    return result;
}

bool is_tree(const BlockTree& tree) {
    std::vector<int> found(tree.nodes.size(), 0);
    std::size_t count = 1;
    const auto is_rank = [&](int rank) { return rank >= 0 && rank < tree.ranks(); };
    if (!is_rank(tree.root) || tree.node(tree.root).parent != -1) return false;
    found[static_cast<std::size_t>(tree.root)] = 1;
    for (int rank = 0; rank < tree.ranks(); ++rank)
        for (const int child : tree.node(rank).children) {
            if (!is_rank(child) || tree.node(child).parent != rank || found[static_cast<std::size_t>(child)]++) return false;
            ++count;
        }
    // Each rank but the root has one parent, so a cycle would not be connected to the root.
    return count == tree.nodes.size() && children_first(tree).size() == count;
}

bool is_ordered(const BlockTree& tree) {
    std::vector<int> first(tree.nodes.size()), last(tree.nodes.size());
    std::vector<std::pair<int, int>> parts;
    for (const int rank : children_first(tree)) {
        const auto at = static_cast<std::size_t>(rank);
        parts.assign(1, {rank, rank});
        for (const int child : tree.node(rank).children)
            parts.emplace_back(first[static_cast<std::size_t>(child)], last[static_cast<std::size_t>(child)]);
        std::sort(parts.begin(), parts.end());
        for (std::size_t i = 1; i < parts.size(); ++i)
            if (parts[i].first != parts[i - 1].second + 1) return false;
        first[at] = parts.front().first;
        last[at] = parts.back().second;
    }
    return true;
}

std::vector<std::uint64_t> segment_sizes(const BlockTree& tree, std::span<const std::uint64_t> sizes) {
    std::vector<std::uint64_t> segments(sizes.begin(), sizes.end());
    for (const int rank : children_first(tree))
        if (const int parent = tree.node(rank).parent; parent >= 0)
            segments[static_cast<std::size_t>(parent)] += segments[static_cast<std::size_t>(rank)];
    return segments;
}

}  // namespace rollcall::collectives
