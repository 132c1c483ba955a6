// What a lane keeps for each peer: eager allowance, and whether it is still there.
#include "runtime/messages/peers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/messages/message.hpp"
#include "runtime/messages/transfer.hpp"

namespace rollcall::runtime {
namespace {

constexpr Nanoseconds kGrace = 100;

TEST(Peers, FromConnectedToSuspectedToGone) {
    Peers peers(4, 4096, true);
    EXPECT_EQ(peers.find(2), nullptr);
    EXPECT_FALSE(peers.any_suspected());
    EXPECT_EQ(peers.next_suspicion_over(kGrace), kNever);
    EXPECT_EQ(peers.any_trouble(), -1);

    EXPECT_TRUE(peers.suspect(2, "could no longer be reached", 1000));
    EXPECT_FALSE(peers.suspect(2, "something else", 2000)) << "once";
    EXPECT_TRUE(peers.any_suspected());
    EXPECT_FALSE(peers.any_dead());
    EXPECT_FALSE(peers.is_gone(2));
    EXPECT_EQ(peers.any_trouble(), 2);
    EXPECT_EQ(peers.first_gone(), -1);
    EXPECT_EQ(peers.next_suspicion_over(kGrace), 1000 + kGrace);
    EXPECT_TRUE(peers.suspected_for(kGrace, 1000 + kGrace - 1).empty());
    EXPECT_EQ(peers.suspected_for(kGrace, 1000 + kGrace), std::vector<int>{2});

    ASSERT_TRUE(peers.declare_gone(2, "was killed by signal 9"));
    EXPECT_FALSE(peers.declare_gone(2, "again")) << "once";
    EXPECT_FALSE(peers.suspect(2, "no way back", 3000));
    peers.explain(2, "nor a better reason");
    EXPECT_TRUE(peers.is_gone(2));
    EXPECT_TRUE(peers.any_dead());
    EXPECT_FALSE(peers.any_suspected());
    EXPECT_EQ(peers.find(2)->what, "was killed by signal 9");
    EXPECT_EQ(peers.next_suspicion_over(kGrace), kNever);
    EXPECT_TRUE(peers.suspected_for(kGrace, 1'000'000).empty());
}

TEST(Peers, ASuspicionGetsABetterReason) {
    Peers peers(2, 4096, true);
    peers.suspect(1, "", 0);
    peers.explain(1, "became unreachable: Connection reset by remote peer");
    EXPECT_EQ(peers.find(1)->what, "became unreachable: Connection reset by remote peer");
}

TEST(Peers, TheFirstCauseIsTheFirstThatWasGone) {
    Peers peers(5, 4096, true);
    peers.suspect(3, "could no longer be reached", 0);
    peers.declare_gone(1, "exited with code 3");
    peers.declare_gone(3, "could no longer be reached");
    EXPECT_EQ(peers.first_gone(), 1);
    EXPECT_EQ(peers.any_trouble(), 1);
    std::vector<int> gone;
    peers.for_each_gone([&](int peer) { gone.push_back(peer); });
    std::sort(gone.begin(), gone.end());
    EXPECT_EQ(gone, (std::vector<int>{1, 3}));
}

TEST(Peers, TheEndOfTheJobIsNoPeersFault) {
    Peers peers(3, 4096, true);
    peers.declare_gone(0, "");
    peers.declare_gone(1, "exited with code 3");
    EXPECT_EQ(peers.first_gone(), 1);
}

TEST(Peers, TheNextSuspicionIsTheEarliest) {
    Peers peers(4, 4096, true);
    peers.suspect(1, "a", 300);
    peers.suspect(2, "b", 100);
    peers.suspect(3, "c", 200);
    EXPECT_EQ(peers.next_suspicion_over(kGrace), 100 + kGrace);
    peers.declare_gone(2, "b");
    EXPECT_EQ(peers.next_suspicion_over(kGrace), 200 + kGrace);
    EXPECT_EQ(peers.suspected_for(kGrace, 350), std::vector<int>{3});
}

// Rank 2 died because of rank 1, whose last messages may still come.
TEST(Peers, ADeadPeerIsGoneAfterThoseThatDiedBefore) {
    Peers peers(4, 4096, true);
    peers.suspect(2, "could no longer be reached", 990);
    peers.hear_out(1, "exited with code 3", 1000, 1020);
    peers.hear_out(2, "was killed by signal 9", 1000, 0);
    EXPECT_EQ(peers.first_gone(), 1);
    EXPECT_TRUE(peers.is_dead_or_gone(2));
    EXPECT_EQ(peers.find(2)->what, "was killed by signal 9");
    EXPECT_EQ(peers.suspected_for(kGrace, 1010), std::vector<int>{});
    EXPECT_EQ(peers.next_suspicion_over(kGrace), 1020);
    peers.hear_until(1, 1050);
    EXPECT_EQ(peers.suspected_for(kGrace, 1020), std::vector<int>{});
    EXPECT_EQ(peers.next_suspicion_over(kGrace), 1050);
    EXPECT_EQ(peers.suspected_for(kGrace, 1050), (std::vector<int>{1, 2}));
    peers.declare_gone(1, "exited with code 3");
    EXPECT_EQ(peers.suspected_for(kGrace, 1010), std::vector<int>{2});
    EXPECT_TRUE(peers.any_heard_out());
    peers.declare_gone(2, "was killed by signal 9");
    EXPECT_FALSE(peers.any_heard_out());
}

TEST(Peers, TransfersWaitForTheReasonUntilTheyAreGivenUp) {
    Peers peers(2, 4096, true);
    Transfer first, second, third;
    peers.suspect(1, "could no longer be reached", 0);
    for (Transfer* transfer : {&first, &second, &third}) peers.wait_for_reason(1, *transfer);
    peers.stop_waiting(1, second);
    peers.stop_waiting(1, second);
    const auto undecided = peers.declare_gone(1, "was killed by signal 9");
    ASSERT_TRUE(undecided);
    EXPECT_EQ(*undecided, (std::vector<Transfer*>{&first, &third}));
}

TEST(Peers, AllowanceIsTakenWholeOrNot) {
    Peers peers(2, 2 * kEntryCharge + 100, true);
    EXPECT_FALSE(Peers::take_allowance(peers[1], kEntryCharge + 101));
    EXPECT_TRUE(Peers::take_allowance(peers[1], 100));
    EXPECT_FALSE(Peers::take_allowance(peers[1], 1));
    EXPECT_TRUE(Peers::allows(peers[1], 0));
    EXPECT_TRUE(Peers::take_allowance(peers[1], 0));
    EXPECT_EQ(peers[1].allowance, 0u);
    EXPECT_FALSE(Peers::take_allowance(peers[1], 0));
    EXPECT_EQ(peers[0].allowance, 2 * kEntryCharge + 100) << "another peer's";
}

TEST(Peers, WhoAcceptsNoDataGetsWordsOnly) {
    Peers peers(2, 4096, false);
    EXPECT_FALSE(Peers::take_allowance(peers[1], 1));
    EXPECT_TRUE(Peers::take_allowance(peers[1], 0));
}

TEST(Peers, WhatIsOwedIsGivenBackOnce) {
    Peers peers(3, 1000, true);
    EXPECT_EQ(peers.take_owed(1), 0u);
    EXPECT_FALSE(peers.owe(1, 300));
    EXPECT_TRUE(peers.owe(1, 200)) << "half of what is granted: worth a message of its own";
    EXPECT_FALSE(peers.owe(2, 10));
    EXPECT_EQ(peers.take_owed(1, 64, 2), 128u);
    EXPECT_EQ(peers.take_owed(1, 64), 320u);
    EXPECT_EQ(peers.take_owed(1, 64), 0u) << "52 are no unit";
    EXPECT_EQ(peers.take_owed(1), 52u);
    EXPECT_EQ(peers.take_owed(1), 0u);
    EXPECT_EQ(peers.take_owed(2), 10u);
}

TEST(Peers, AllowancesStayWithinHalfOfTheLandingBudget) {
    constexpr std::uint64_t kMiB = 1024 * 1024;
    for (const int size : {1, 2, 3, 64, 1000, 100'000})
        for (const std::uint64_t landing : {std::uint64_t{0}, kMiB, 128 * kMiB, 10'000 * kMiB}) {
            const std::uint64_t each = allowance_for(landing, size), left = landing_budget_for(landing, size);
            EXPECT_GE(each, 4096u) << "messages without data always get through";
            EXPECT_LE(left, landing);
            EXPECT_GE(left, landing / 2);
            // Where the least allowance exceeds the budget's half, words still go; their data does not.
            if (each > 4096) {
                EXPECT_LE(each * static_cast<std::uint64_t>(std::max(1, size - 1)), landing / 2);
            }
        }
}

}  // namespace
}  // namespace rollcall::runtime
