#include "collectives/trees/pipelined.hpp"

#include <gtest/gtest.h>

namespace rollcall::collectives {
namespace {

TEST(PipelinedTree, IsAChainWhileItIsNoLongerThanTheMessageHasPieces) {
    for (std::size_t position = 0; position < 64; ++position) {
        const PipelinedPlace place = pipelined_tree(64, 64, position);
        EXPECT_EQ(place.parent, position == 0 ? 0 : position - 1);
        EXPECT_EQ(place.children.size(), position + 1 < 64 ? 1u : 0u);
    }
}

TEST(PipelinedTree, IsAChainForAWholeMessage) {
    EXPECT_EQ(pipelined_tree(1000, 1, 0).children, std::vector<std::size_t>{1});
    EXPECT_EQ(pipelined_tree(1000, 1, 999).parent, 998u);
}

TEST(PipelinedTree, TheWorkedExample) {
    EXPECT_EQ(pipelined_tree(7, 2, 0).children, (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(pipelined_tree(7, 2, 1).children, (std::vector<std::size_t>{3, 4}));
    EXPECT_EQ(pipelined_tree(7, 2, 2).children, (std::vector<std::size_t>{5, 6}));
    EXPECT_TRUE(pipelined_tree(7, 2, 6).children.empty());
}

TEST(PipelinedTree, SpansAllMembersAndParentsAgreeWithChildren) {
    for (std::size_t members = 1; members < 200; ++members)
        for (const std::uint64_t pieces : {1u, 2u, 5u, 64u, 500u}) {
            std::vector<int> fed(members, 0);
            fed[0] = 1;
            std::size_t depth = 0;
            for (std::size_t position = 0; position < members; ++position) {
                const PipelinedPlace place = pipelined_tree(members, pieces, position);
                EXPECT_LE(place.children.size(), kPipelinedChildren);
                for (const std::size_t child : place.children) {
                    ASSERT_LT(child, members);
                    EXPECT_EQ(pipelined_tree(members, pieces, child).parent, position);
                    ++fed[child];
                }
                std::size_t steps = 0;
                for (std::size_t at = position; at != 0; at = pipelined_tree(members, pieces, at).parent) ++steps;
                depth = std::max(depth, steps);
            }
            EXPECT_EQ(fed, std::vector<int>(members, 1)) << members << " members, " << pieces << " pieces";
            if (pieces > 1) {
                EXPECT_LE(depth, std::max<std::size_t>(pieces, 8)) << members << " members, " << pieces << " pieces";
            }
        }
}

}  // namespace
}  // namespace rollcall::collectives
