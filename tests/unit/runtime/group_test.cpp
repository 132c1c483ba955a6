#include "runtime/group/group.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/unit/random.hpp"

namespace rollcall::runtime {
namespace {

Group group_of(std::vector<int> world) {
    Group group;
    group.size = static_cast<int>(world.size());
    group.world = std::move(world);
    sort_members(group);
    return group;
}

TEST(Group, OfTheWholeWorldHasTheSameRanks) {
    Group group;
    group.size = 5;
    sort_members(group);
    for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(group.rank_of(rank), rank);
    EXPECT_EQ(group.rank_of(5), -1);
}

TEST(Group, InTheOrderOfTheWorldTakesNoMemoryToFindItsRanks) {
    const Group group = group_of({2, 3, 7, 100'000});
    EXPECT_TRUE(group.by_world.empty());
    EXPECT_EQ(group.rank_of(2), 0);
    EXPECT_EQ(group.rank_of(7), 2);
    EXPECT_EQ(group.rank_of(100'000), 3);
    for (const int other : {0, 1, 4, 99'999, 100'001}) EXPECT_EQ(group.rank_of(other), -1) << other;
}

TEST(Group, FindsTheRanksOfItsMembersInAnyOrder) {
    auto random = seeded_random();
    for (int round = 0; round < 200; ++round) {
        std::vector<int> world(1 + random() % 100);
        std::iota(world.begin(), world.end(), 0);
        std::shuffle(world.begin(), world.end(), random);
        const std::vector<int> members(world.begin(), world.begin() + static_cast<std::ptrdiff_t>(1 + random() % world.size()));
        const Group group = group_of(members);
        for (int rank = -1; rank <= static_cast<int>(world.size()); ++rank) {
            const auto found = std::find(members.begin(), members.end(), rank);
            ASSERT_EQ(group.rank_of(rank), found == members.end() ? -1 : static_cast<int>(found - members.begin()))
                << rank << " in round " << round;
        }
    }
}

TEST(Group, HasEvenNodesIfNoneHasLessThanHalfAsManyMembersAsAnother) {
    const auto are_even_of = [](const std::vector<int>& sharing) {
        Group group;
        group.size = static_cast<int>(sharing.size());
        find_nodes(group, sharing);
        return are_even(group.nodes.get());
    };
    EXPECT_TRUE(are_even_of({0, 0, 2, 2}));
    EXPECT_TRUE(are_even_of({0, 0, 0, 0, 4, 4}));
    EXPECT_TRUE(are_even_of({0, 0, 2}));
    EXPECT_FALSE(are_even_of({0, 0, 0, 3}));
    EXPECT_FALSE(are_even_of({0, 0, 2, 2, 2, 2, 2}));
    EXPECT_FALSE(are_even_of({0, 0, 0})) << "one node";
}

}  // namespace
}  // namespace rollcall::runtime
