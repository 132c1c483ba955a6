#include "collectives/trees/group.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace rollcall::collectives {
namespace {

TEST(GroupTrees, TheWorkedExamples) {
    EXPECT_EQ(fastest_group_way(128, 8 << 10, 8192).form, GroupForm::binomial);
    EXPECT_EQ(fastest_group_way(128, 128 << 10, 8192).form, GroupForm::binary);
    EXPECT_EQ(fastest_group_way(128, 2 << 20, 8192).form, GroupForm::scatter_ring);
    EXPECT_EQ(fastest_group_way(128, 8 << 20, 8192).form, GroupForm::chain);
    for (const std::uint64_t m : {0ull, 1ull, 64ull << 10, 1ull << 40}) EXPECT_EQ(fastest_group_way(2, m, 8192).form, GroupForm::binomial);
    EXPECT_EQ(group_place(GroupForm::chain, 3, 0).children, std::vector<int>{1});
    EXPECT_EQ(group_place(GroupForm::chain, 3, 1).children, std::vector<int>{2});
    EXPECT_EQ(group_place(GroupForm::binary, 8, 0).children, std::vector<int>{1});
    EXPECT_EQ(group_place(GroupForm::binary, 8, 1).children, (std::vector<int>{2, 3}));
    EXPECT_EQ(group_place(GroupForm::binary, 8, 2).children, (std::vector<int>{4, 5}));
    EXPECT_EQ(group_place(GroupForm::binary, 8, 3).children, (std::vector<int>{6, 7}));
}

// Returns the least number of piece times, over all numbers of pieces, of a pipeline down this tree. A rank passes a piece on to its
// children one after the other, and receives a piece at a time.
double least_cost(GroupForm form, int n, std::uint64_t m, double a, std::uint64_t most_pieces) {
    double least = 0;
    for (std::uint64_t pieces = 1; pieces <= most_pieces; ++pieces) {
        // The time at which each rank has its latest piece, and at which it has sent it on, in piece times.
        std::vector<double> has(static_cast<std::size_t>(n), 0), free(static_cast<std::size_t>(n), 0);
        for (std::uint64_t piece = 0; piece < pieces; ++piece)
            for (int v = 0; v < n; ++v) {
                double& sent = free[static_cast<std::size_t>(v)];
                sent = std::max(sent, has[static_cast<std::size_t>(v)]);
                for (const int child : group_place(form, n, v).children) has[static_cast<std::size_t>(child)] = ++sent;
            }
        const double time = *std::max_element(has.begin(), has.end());
        const double cost = time * (a + static_cast<double>(m) / static_cast<double>(pieces));
        if (pieces == 1 || cost < least) least = cost;
    }
    return least;
}

TEST(GroupTrees, TheChosenWayIsAsGoodAsAnyNumberOfPieces) {
    for (const int n : {3, 5, 8, 15, 24, 33, 48})
        for (const std::uint64_t m : {16u << 10, 64u << 10, 256u << 10, 1u << 20})
            for (const double a : {8192.0, 40'000.0}) {
                const GroupWay way = fastest_group_way(n, m, a);
                const double best = std::min({least_cost(GroupForm::binomial, n, m, a, 1), least_cost(GroupForm::chain, n, m, a, 100),
                                              least_cost(GroupForm::binary, n, m, a, 60)});
                EXPECT_LE(way.cost, 1.01 * best) << n << " ranks, " << m << " bytes";
                if (way.form != GroupForm::scatter_ring) {
                    EXPECT_GE(way.cost, 0.999 * best) << n << " ranks, " << m << " bytes";
                }
            }
}

TEST(GroupTrees, PiecesOfAGivenSizeGoDownAChainThatIsNoLongerThanTheMessageHasPieces) {
    EXPECT_EQ(group_way(65, 640, 10).form, GroupForm::chain);
    EXPECT_EQ(group_way(66, 640, 10).form, GroupForm::binary);
    EXPECT_EQ(group_way(66, 640, 10).segment, 10u);
    EXPECT_EQ(group_way(66, 640, 640).form, GroupForm::binomial);
    EXPECT_EQ(group_way(66, 0, 640).form, GroupForm::binomial);
}

TEST(GroupTrees, SpanAllRanksAndParentsAgreeWithChildren) {
    for (const GroupForm form : {GroupForm::binomial, GroupForm::chain, GroupForm::binary})
        for (int n = 2; n < 200; ++n) {
            std::vector<int> fed(static_cast<std::size_t>(n), 0);
            fed[0] = 1;
            for (int v = 0; v < n; ++v)
                for (const int child : group_place(form, n, v).children) {
                    ASSERT_TRUE(v < child && child < n);
                    EXPECT_EQ(group_place(form, n, child).parent, v);
                    ++fed[static_cast<std::size_t>(child)];
                }
            EXPECT_EQ(fed, std::vector<int>(static_cast<std::size_t>(n), 1)) << static_cast<int>(form) << ", " << n << " ranks";
        }
}

}  // namespace
}  // namespace rollcall::collectives
