/// \file
/// A tree of ranks that collects or distributes blocks of different sizes. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::collectives {

/// One rank's place in a gather. A scatter uses the same tree backwards: the segment that a gather receives last is sent first.
struct BlockTreeNode {
    int parent = -1;            ///< -1 at the root.
    std::vector<int> children;  ///< In the order in which their segments are received.
    /// How many segments the rank receives before it copies its own block to the place where it collects. A rank without children copies
    /// nothing: its block is sent from where it is.
    int received_before_copy = 0;
};

struct BlockTree {
    int root = 0;
    std::vector<BlockTreeNode> nodes;  ///< By rank.

    BlockTree() = default;
    /// Makes ranks without connections.
    explicit BlockTree(int ranks) : nodes(static_cast<std::size_t>(ranks)) {}
    BlockTreeNode& node(int rank) { return nodes[static_cast<std::size_t>(rank)]; }
    const BlockTreeNode& node(int rank) const { return nodes[static_cast<std::size_t>(rank)]; }
    int ranks() const { return static_cast<int>(nodes.size()); }

    /// `to` receives the segment of `from`, after all segments that it receives so far.
    void connect(int from, int to) {
        node(from).parent = to;
        node(to).children.push_back(from);
    }
    /// Gives the ranks of `ranks` the connections that the ranks of `part` have: ranks[i] those of rank i. Returns the root of the part.
    int add_part(const BlockTree& part, std::span<const int> ranks);
};

/// A tree, and the order in which blocks stand in segments.
struct SegmentTree {
    BlockTree tree;
    std::vector<int> order;  ///< The rank at each position. Each rank and the ranks below it are at successive positions.
};

/// All ranks, each once, children before their parent.
std::vector<int> children_first(const BlockTree& tree);

/// The same tree with rank order[i] in the place of rank i. For trees over ranks in another order.
BlockTree in_order(const BlockTree& tree, std::span<const int> order);

/// Whether all ranks are in one tree, and each parent has its children.
bool is_tree(const BlockTree& tree);

/// Whether each rank, together with the ranks below it, is a run of consecutive ranks. Then every segment is in the order of ranks wherever
/// it is.
bool is_ordered(const BlockTree& tree);

/// The number of bytes that each rank sends to its parent: its own block and the blocks below it. At the root: the sum of all blocks.
std::vector<std::uint64_t> segment_sizes(const BlockTree& tree, std::span<const std::uint64_t> sizes);

}  // namespace rollcall::collectives
