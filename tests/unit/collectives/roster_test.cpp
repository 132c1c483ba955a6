#include "collectives/arrivals/roster.hpp"
#include "tests/sanitizers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace rollcall::collectives {
namespace {

using runtime::kUnknownTime;

std::vector<int> drain(Roster& roster) {
    std::vector<int> order;
    while (!roster.empty()) order.push_back(roster.take());
    return order;
}

TEST(Roster, WhoIsUnknownGoesByRankFromTheRootOn) {
    Roster roster(5, 3);
    EXPECT_FALSE(roster.all_known());
    EXPECT_FALSE(roster.someone_waits());
    EXPECT_EQ(drain(roster), (std::vector<int>{4, 0, 1, 2}));
    EXPECT_TRUE(roster.all_known());
}

TEST(Roster, ArrivedThenPredictedThenUnknown) {
    Roster roster(8, 0);
    roster.predicted(7, 50);
    roster.predicted(3, 20);
    roster.predicted(2, 50);
    roster.arrived(5);
    roster.arrived(1);
    EXPECT_TRUE(roster.someone_waits());
    EXPECT_EQ(drain(roster), (std::vector<int>{5, 1, 3, 2, 7, 4, 6}));
}

// Where all serve all: were it in the order of arrival, all would begin with the same one.
TEST(Roster, ThoseWhoHaveArrivedMayGoByRank) {
    Roster roster(6, 2, Arrived::by_rank);
    for (const int rank : {0, 1, 5, 3}) roster.arrived(rank);
    EXPECT_EQ(drain(roster), (std::vector<int>{3, 5, 0, 1, 4}));
}

TEST(Roster, NewsMoveARank) {
    Roster roster(4, 0);
    for (int rank = 1; rank < 4; ++rank) roster.predicted(rank, 10 * rank);
    EXPECT_TRUE(roster.all_known());
    roster.predicted(1, 35);
    EXPECT_EQ(roster.take(), 2);
    roster.predicted(3, kUnknownTime);
    EXPECT_FALSE(roster.all_known());
    roster.arrived(3);
    roster.predicted(3, 1000);  // comes after the fact
    EXPECT_TRUE(roster.someone_waits());
    EXPECT_EQ(roster.take(), 3);
    EXPECT_FALSE(roster.has_arrived(2));
    roster.predicted(2, 5);
    roster.arrived(2);  // was taken
    EXPECT_TRUE(roster.has_arrived(2));
    EXPECT_FALSE(roster.someone_waits());
    EXPECT_EQ(drain(roster), std::vector<int>{1});
}

TEST(Roster, MayServeSomeOnly) {
    const std::vector<int> served{1, 4, 5};
    Roster roster(6, 3, served, Arrived::by_rank);
    roster.arrived(0);  // not served
    EXPECT_FALSE(roster.someone_waits());
    roster.arrived(1);
    EXPECT_TRUE(roster.someone_waits());
    EXPECT_EQ(drain(roster), (std::vector<int>{1, 4, 5}));
}

TEST(Roster, Alone) {
    Roster roster(1, 0);
    EXPECT_TRUE(roster.empty());
    EXPECT_TRUE(roster.all_known());
    EXPECT_FALSE(roster.someone_waits());
}

// Against the rule, looked up in a list at each step.
TEST(Roster, AgreesWithItsRule) {
    std::mt19937 random(7);
    const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
    for (int repetition = 0; repetition < test::repetitions(500); ++repetition) {
        const int n = 1 + below(20), root = below(n);
        Roster roster(n, root);
        struct Known {
            int rank;
            bool taken = false;
            int arrived = -1;
            Nanoseconds predicted = kUnknownTime;
        };
        std::vector<Known> all;
        for (int i = 1; i < n; ++i) all.push_back({(root + i) % n});
        int arrivals = 0;
        const auto before = [&](const Known& left, const Known& right) {
            if (left.arrived >= 0 || right.arrived >= 0) return left.arrived >= 0 && (right.arrived < 0 || left.arrived < right.arrived);
            if (left.predicted >= 0 || right.predicted >= 0)
                return left.predicted >= 0 &&
                       (right.predicted < 0 || std::pair(left.predicted, left.rank) < std::pair(right.predicted, right.rank));
            return (left.rank - root + n) % n < (right.rank - root + n) % n;
        };
        for (int remaining = n - 1; remaining > 0;) {
            Known& known = all[static_cast<std::size_t>(below(n - 1))];
            switch (below(4)) {
                case 0:
                    if (known.arrived >= 0) break;  // an arrival is seen once
                    known.arrived = arrivals++;
                    roster.arrived(known.rank);
                    break;
                case 1:
                    known.predicted = below(5) ? below(10) : kUnknownTime;
                    roster.predicted(known.rank, known.predicted);
                    break;
                default: {
                    std::vector<Known> left;
                    std::copy_if(all.begin(), all.end(), std::back_inserter(left), [](const Known& one) { return !one.taken; });
                    const Known next = *std::min_element(left.begin(), left.end(), before);
                    ASSERT_EQ(roster.someone_waits(), next.arrived >= 0);
                    ASSERT_EQ(roster.all_known(), std::all_of(left.begin(), left.end(),
                                                              [](const Known& one) { return one.arrived >= 0 || one.predicted >= 0; }));
                    ASSERT_EQ(roster.take(), next.rank);
                    for (Known& one : all) one.taken |= one.rank == next.rank;
                    --remaining;
                }
            }
        }
        ASSERT_TRUE(roster.empty());
    }
}

}  // namespace
}  // namespace rollcall::collectives
