#include "collectives/trees/halving.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <vector>

namespace rollcall::collectives {
namespace {

bool same(const HalvingPlace& left, const HalvingPlace& right) {
    return left.parent == right.parent && left.blocks == right.blocks &&
           std::equal(left.children.begin(), left.children.end(), right.children.begin(), right.children.end(),
                      [](const auto& one, const auto& other) { return one.rank == other.rank && one.blocks == other.blocks; });
}

std::vector<HalvingPlace> places(const std::vector<int>& rank_at) {
    std::vector<HalvingPlace> all;
    for (std::size_t position = 0; position < rank_at.size(); ++position)
        all.push_back(rank_at[position] < 0 ? HalvingPlace{-2, 0, {}} : halving_place(rank_at, static_cast<int>(position)));
    return all;
}

// From the top: every position is given blocks once, side by side, and exactly as many as its parent says.
void expect_ranges(const std::vector<int>& rank_at) {
    const auto all = places(rank_at);
    std::vector<int> dense, position_of(rank_at.size(), -1);
    std::vector<std::size_t> dense_of(rank_at.size());
    for (std::size_t position = 0; position < rank_at.size(); ++position) {
        dense_of[position] = dense.size();
        if (rank_at[position] < 0) continue;
        dense.push_back(rank_at[position]);
        position_of[static_cast<std::size_t>(rank_at[position])] = static_cast<int>(position);
    }
    std::vector<int> given(rank_at.size(), 0);
    given[0] = 1;
    EXPECT_EQ(all[0].parent, -1);
    EXPECT_EQ(all[0].blocks, static_cast<int>(dense.size()));
    for (std::size_t position = 0; position < rank_at.size(); ++position) {
        if (rank_at[position] < 0) continue;
        const HalvingPlace& place = all[position];
        // Its buffer holds dense[own], ..., from its own block on; children take theirs from the end.
        std::size_t end = dense_of[position] + static_cast<std::size_t>(place.blocks);
        for (const auto& child : place.children) {
            const auto at = static_cast<std::size_t>(position_of[static_cast<std::size_t>(child.rank)]);
            ++given[at];
            EXPECT_EQ(all[at].parent, rank_at[position]);
            EXPECT_EQ(all[at].blocks, child.blocks);
            end -= static_cast<std::size_t>(child.blocks);
            EXPECT_EQ(end, dense_of[at]);
        }
        EXPECT_EQ(end, dense_of[position] + 1);
    }
    for (std::size_t position = 0; position < rank_at.size(); ++position) EXPECT_EQ(given[position], rank_at[position] >= 0 ? 1 : 0);
}

TEST(HalvingTree, InTheOrderOfArrivalForEverySize) {
    std::mt19937 random(1);
    for (int n = 1; n <= 64; ++n)
        for (int repetition = 0; repetition < 3; ++repetition) {
            std::vector<int> order(static_cast<std::size_t>(n));
            std::iota(order.begin(), order.end(), 0);
            std::shuffle(order.begin(), order.end(), random);
            const auto rank_at = arrange_by_order(order);
            ASSERT_EQ(rank_at.size(), std::bit_ceil(static_cast<unsigned>(n)));
            ASSERT_EQ(rank_at[0], order[0]);
            std::vector<int> found;
            for (std::size_t position = 0; position < rank_at.size(); ++position) {
                if (rank_at[position] >= 0)
                    found.push_back(rank_at[position]);
                else
                    ASSERT_EQ(position % 2, 1u) << "only leaves vanish";
            }
            std::sort(found.begin(), found.end());
            std::vector<int> everybody(static_cast<std::size_t>(n));
            std::iota(everybody.begin(), everybody.end(), 0);
            ASSERT_EQ(found, everybody);
            expect_ranges(rank_at);
            // The second in order answers for half of the slots, the later half of a full tree for no slot but its own.
            if (n > 1) {
                ASSERT_EQ(rank_at[rank_at.size() / 2], order[1]);
            }
            for (std::size_t j = rank_at.size() / 2; j < order.size(); ++j) {
                const auto at = std::find(rank_at.begin(), rank_at.end(), order[j]) - rank_at.begin();
                ASSERT_TRUE(halving_place(rank_at, static_cast<int>(at)).children.empty());
            }
            if (HasFailure()) return;
        }
}

TEST(HalvingTree, ByRankItIsTheSameAsByList) {
    for (int n = 1; n <= 64; ++n)
        for (int root = 0; root < n; ++root) {
            std::vector<int> rank_at(std::bit_ceil(static_cast<unsigned>(n)), -1);
            for (int v = 0; v < n; ++v) rank_at[static_cast<std::size_t>(v)] = (root + v) % n;
            if (root == 0) expect_ranges(rank_at);
            for (int v = 0; v < n; ++v)
                ASSERT_TRUE(same(halving_place(n, root, (root + v) % n), halving_place(rank_at, v))) << n << " " << root << " " << v;
            if (HasFailure()) return;
        }
}

TEST(HalvingTree, TheExamplesInItsHeader) {
    EXPECT_EQ(arrange_by_order(std::vector<int>{0, 2, 3, 4, 5, 1}), (std::vector<int>{0, 5, 3, -1, 2, 1, 4, -1}));
    const std::vector<int> rank_at = {0, 5, 3, 1, 2, -1, 4, -1};
    EXPECT_TRUE(same(halving_place(rank_at, 0), {-1, 6, {{2, 2}, {3, 2}, {5, 1}}}));
    EXPECT_TRUE(same(halving_place(rank_at, 4), {0, 2, {{4, 1}}}));
    EXPECT_TRUE(same(halving_place(rank_at, 2), {0, 2, {{1, 1}}}));
    EXPECT_TRUE(same(halving_place(6, 0, 0), {-1, 6, {{4, 2}, {2, 2}, {1, 1}}}));
    EXPECT_TRUE(same(halving_place(6, 0, 2), {0, 2, {{3, 1}}}));
}

TEST(HalvingTree, LargestSizes) {
    const int n = 2147483647;
    const HalvingPlace root = halving_place(n, n - 1, n - 1);
    EXPECT_EQ(root.blocks, n);
    ASSERT_EQ(root.children.size(), 31u);
    EXPECT_EQ(root.children.back().rank, 0);
    for (const auto& child : root.children) {
        EXPECT_EQ(halving_place(n, n - 1, child.rank).parent, n - 1);
        EXPECT_EQ(halving_place(n, n - 1, child.rank).blocks, child.blocks);
    }
}

}  // namespace
}  // namespace rollcall::collectives
