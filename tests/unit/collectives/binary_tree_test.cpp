#include <algorithm>
#include <bit>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/trees/binary.hpp"

namespace rollcall::collectives {
namespace {

TEST(BinaryTree, IsThatOfTheExample) {
    const std::vector<std::vector<int>> children = {{1, 5}, {2, 4}, {3}, {}, {}, {6, 7}, {}, {}};
    for (int rank = 0; rank < 8; ++rank) {
        EXPECT_EQ(binary_tree(8, 0, rank).children, children[static_cast<std::size_t>(rank)]) << rank;
        const TreePlace turned = binary_tree(8, 6, (rank + 6) % 8);
        for (std::size_t i = 0; i < turned.children.size(); ++i)
            EXPECT_EQ(turned.children[i], (children[static_cast<std::size_t>(rank)][i] + 6) % 8);
    }
}

// Ranks agree on who is whose child, subtrees are consecutive and have their first number on top, and no path is too long.
TEST(BinaryTree, SpansAllRanksInOrder) {
    for (int n = 1; n < 300; ++n)
        for (const int root : {0, n / 3, n - 1}) {
            std::vector<int> depth(static_cast<std::size_t>(n)), size(static_cast<std::size_t>(n), 1);
            const auto number = [&](int rank) { return static_cast<std::size_t>((rank - root + n) % n); };
            EXPECT_EQ(binary_tree(n, root, root).parent, -1);
            for (int v = 1; v < n; ++v) {
                const int rank = (root + v) % n, parent = binary_tree(n, root, rank).parent;
                ASSERT_GE(parent, 0);
                ASSERT_LT(number(parent), static_cast<std::size_t>(v)) << "parents come first";
                depth[static_cast<std::size_t>(v)] = depth[number(parent)] + 1;
                ASSERT_LE(depth[static_cast<std::size_t>(v)], std::bit_width(static_cast<unsigned>(n)) - 1);
                const auto siblings = binary_tree(n, root, parent).children;
                ASSERT_EQ(std::count(siblings.begin(), siblings.end(), rank), 1);
            }
            for (int v = n - 1; v > 0; --v) size[number(binary_tree(n, root, (root + v) % n).parent)] += size[static_cast<std::size_t>(v)];
            for (int v = 0; v < n; ++v) {
                const auto children = binary_tree(n, root, (root + v) % n).children;
                ASSERT_EQ(static_cast<int>(children.size()), binary_children(n, root, (root + v) % n));
                std::size_t next = static_cast<std::size_t>(v) + 1;
                for (const int child : children) {
                    ASSERT_EQ(number(child), next);
                    next += static_cast<std::size_t>(size[next]);
                }
            }
        }
}

}  // namespace
}  // namespace rollcall::collectives
