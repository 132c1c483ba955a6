// How a caller that waits spends its time.
#include "runtime/lane/idle.hpp"

#include <gtest/gtest.h>

namespace rollcall::runtime {
namespace {

using Step = Idle::Step;

constexpr Nanoseconds kSpin = 100'000;
constexpr Nanoseconds kLongSpin = Idle::kSpinsOnFreeCore * kSpin;
constexpr Nanoseconds kPoll = 50;

// A caller whose yields take so long, with a clock of its own.
struct Caller {
    explicit Caller(bool yields) : idle(yields, kSpin) {}

    /// Waits in vain from now on. Gives the polls until it parks; -1: it does not.
    int polls_until_it_parks(int most = 1'000'000) {
        idle.begin();
        for (int polls = 1; polls <= most; ++polls) {
            now += kPoll;
            if (idle.polled(false) != Step::look) continue;
            if (idle.parks_at_once(now)) return polls;
            const Nanoseconds before = now;
            now += yield;
            if (idle.looked(before, now, false)) return polls;
        }
        return -1;
    }
    void sleep(Nanoseconds time) {
        idle.slept(now, now + time);
        now += time;
    }
    /// Waits for something that comes in a yield. Gives the polls before it.
    int polls_until_a_yield_brings_it() {
        idle.begin();
        int polls = 1;
        while (now += kPoll, idle.polled(false) != Step::look) ++polls;
        EXPECT_FALSE(idle.parks_at_once(now));
        EXPECT_FALSE(idle.looked(now, now + yield, true));
        now += yield;
        return polls;
    }

    Idle idle;
    Nanoseconds now = 1'000'000;
    Nanoseconds yield = 400;
};

TEST(Idle, PollsThenRelaxesAndLooksInBetween) {
    Idle idle(false, kSpin);
    idle.begin();
    for (unsigned poll = 1; poll <= 4 * Idle::kPollsBeforeRelax; ++poll) {
        const Step step = idle.polled(false);
        if (poll % Idle::kPollsPerLook == 0)
            ASSERT_EQ(step, Step::look) << poll;
        else
            ASSERT_EQ(step, poll > Idle::kPollsBeforeRelax ? Step::relax : Step::poll) << poll;
    }
    idle.polled(true);
    EXPECT_EQ(idle.polled(false), Step::poll) << "after an event it polls at once again";
}

// A look is a yield and a read of the clock: as long as a short message takes. Some are needed to see that others want the core.
TEST(Idle, OneOfSomeShortWaitsHasLooks) {
    Idle idle(false, kSpin);
    constexpr unsigned kPolls = 3 * Idle::kEarlyPollsPerLook;
    static_assert(kPolls < Idle::kPollsPerLook);
    unsigned waits_with_looks = 0;
    for (unsigned wait = 0; wait < 100 * Idle::kWaitsPerEarlyLook; ++wait) {
        idle.begin();
        unsigned looks = 0;
        for (unsigned poll = 0; poll < kPolls; ++poll) looks += idle.polled(false) == Step::look;
        ASSERT_EQ(looks % 3, 0u) << wait;
        waits_with_looks += looks > 0;
    }
    EXPECT_EQ(waits_with_looks, 100u);
}

TEST(Idle, YieldsAtEachPollWhereCoresAreShared) {
    Idle idle(true, kSpin);
    idle.begin();
    for (unsigned poll = 1; poll <= 1000; ++poll) ASSERT_EQ(idle.polled(false), poll % Idle::kYieldsPerLook ? Step::yield : Step::look);
    EXPECT_EQ(idle.polled(true), Step::poll);
}

TEST(Idle, ParksAfterTheSpinWhereOthersShareTheCore) {
    Caller caller(true);
    caller.yield = Idle::kQuickYield + 1;
    const Nanoseconds begun = caller.now;
    ASSERT_GT(caller.polls_until_it_parks(), 0);
    EXPECT_GE(caller.now - begun, kSpin);
    EXPECT_LE(caller.now - begun, kSpin + 2 * (Idle::kPollsPerLook * kPoll + caller.yield));
}

// One late yield in the middle of a wait: another program has begun to compute.
TEST(Idle, TheSpinIsLongOnlyAsLongAsTheCoreIsFree) {
    Caller caller(true);
    const Nanoseconds begun = caller.now;
    ASSERT_EQ(caller.polls_until_it_parks(static_cast<int>(kSpin / 2 / kPoll)), -1);
    caller.yield = Idle::kQuickYield + 1;
    while (caller.now - begun < kLongSpin) {
        caller.now += kPoll;
        if (caller.idle.polled(false) != Step::look) continue;
        const Nanoseconds before = caller.now;
        caller.now += caller.yield;
        if (caller.idle.looked(before, caller.now, false)) break;
    }
    EXPECT_GE(caller.now - begun, kSpin);
    EXPECT_LE(caller.now - begun, kSpin + 2 * (Idle::kPollsPerLook * kPoll + caller.yield));
}

TEST(Idle, ParksAfterTheLongSpinWhereTheCoreIsFree) {
    for (const bool yields : {false, true}) {
        Caller caller(yields);
        const Nanoseconds begun = caller.now;
        ASSERT_GT(caller.polls_until_it_parks(), 0);
        EXPECT_GE(caller.now - begun, kLongSpin);
        EXPECT_LE(caller.now - begun, kLongSpin + 2 * (Idle::kPollsPerLook * kPoll + caller.yield));
        caller.sleep(kMillisecond);
        const Nanoseconds again = caller.now;
        ASSERT_GT(caller.polls_until_it_parks(), 0);
        EXPECT_GE(caller.now - again, kLongSpin) << "what woke it may be followed by more";
    }
}

TEST(Idle, EachWaitSpinsAnew) {
    Caller caller(false);
    ASSERT_EQ(caller.polls_until_it_parks(3 * static_cast<int>(Idle::kPollsPerLook)), -1);  // its goal is reached: no poll after it
    caller.now += 10 * kLongSpin;                                                           // it computes
    const Nanoseconds begun = caller.now;
    ASSERT_GT(caller.polls_until_it_parks(), 0);
    EXPECT_GE(caller.now - begun, kLongSpin);
}

TEST(Idle, AnEventBeginsTheSpinAnew) {
    Caller caller(false);
    ASSERT_EQ(caller.polls_until_it_parks(3 * static_cast<int>(Idle::kPollsPerLook)), -1);
    caller.now += 10 * kLongSpin;
    caller.idle.polled(true);
    const Nanoseconds begun = caller.now;
    ASSERT_GT(caller.polls_until_it_parks(), 0);
    EXPECT_GE(caller.now - begun, kLongSpin);
}

TEST(Idle, LooksAtTheClockThoughEachPollBringsSomething) {
    for (const bool yields : {false, true}) {
        Caller caller(yields);
        caller.idle.begin();
        int looks = 0;
        for (int poll = 0; poll < 10'000; ++poll) {
            caller.now += 1000;
            if (caller.idle.polled(true) != Step::look) continue;
            ++looks;
            ASSERT_FALSE(caller.idle.parks_at_once(caller.now)) << "it parks while messages come";
            ASSERT_FALSE(caller.idle.looked(caller.now, caller.now, false)) << "it parks while messages come";
        }
        EXPECT_GE(looks, 10'000 / static_cast<int>(Idle::kBusyPollsPerLook));
        EXPECT_LE(looks, 10'000 / static_cast<int>(Idle::kBusyPollsPerLook) + 1);
    }
}

TEST(Idle, AStrangerThatWantsTheCoreShortensTheSpinForAWhile) {
    Caller caller(false);
    caller.yield = 4 * kMillisecond;  // another process had the core
    Nanoseconds begun = caller.now;
    EXPECT_LE(caller.polls_until_it_parks(), 2 * static_cast<int>(Idle::kPollsPerLook));
    caller.sleep(kMillisecond);
    caller.yield = 400;
    begun = caller.now;
    const int polls = caller.polls_until_it_parks();
    ASSERT_GT(polls, 0);
    EXPECT_LT(polls, static_cast<int>(Idle::kPollsPerLook)) << "it looks more often";
    EXPECT_LT(caller.now - begun, kSpin / 4) << "right after it";
    caller.sleep(kMillisecond);
    caller.now += Idle::kContention;
    begun = caller.now;
    ASSERT_GT(caller.polls_until_it_parks(), 0);
    EXPECT_GE(caller.now - begun, kLongSpin) << "a while later";
}

// A program that computes on this core gets it for a slice of time at each yield.
TEST(Idle, DoesNotYieldToAStranger) {
    Caller caller(false);
    caller.yield = 4 * kMillisecond;
    ASSERT_GT(caller.polls_until_it_parks(), 0);
    for (int wait = 0; wait < 10; ++wait) {
        caller.sleep(10'000);
        const Nanoseconds begun = caller.now;
        ASSERT_EQ(caller.polls_until_it_parks(), static_cast<int>(Idle::kEarlyPollsPerLook));
        EXPECT_LT(caller.now - begun, kSpin / 4) << "it has not yielded";
    }
    caller.now += Idle::kContention;
    const Nanoseconds begun = caller.now;
    ASSERT_GT(caller.polls_until_it_parks(), 0);
    EXPECT_GE(caller.now - begun, caller.yield) << "it looks whether the stranger is there still";
}

TEST(Idle, YieldsAfterASingleLateYield) {
    Caller caller(false);
    caller.yield = 4 * kMillisecond;
    ASSERT_EQ(caller.polls_until_it_parks(int{Idle::kPollsPerLook}), -1);
    caller.yield = 400;
    const Nanoseconds begun = caller.now;
    ASSERT_GT(caller.polls_until_it_parks(), 0);
    EXPECT_GE(caller.now - begun, kLongSpin);
}

// Two ranks on one core: what one waits for comes when the other one runs.
TEST(Idle, YieldsOftenWhileYieldsBringWhatItWaitsFor) {
    Caller caller(false);
    for (unsigned wait = 1; wait <= Idle::kInARow; ++wait) EXPECT_EQ(caller.polls_until_a_yield_brings_it(), int{Idle::kPollsPerLook});
    for (unsigned wait = 0; wait < 2 * Idle::kWaitsPerEarlyLook; ++wait)
        ASSERT_EQ(caller.polls_until_a_yield_brings_it(), int{Idle::kYieldsPerLook}) << wait;
    // The other rank has moved to a core of its own.
    ASSERT_EQ(caller.polls_until_it_parks(2 * int{Idle::kYieldsPerLook}), -1);
    EXPECT_EQ(caller.polls_until_a_yield_brings_it(), int{Idle::kPollsPerLook});
}

// Where a yield does not give the core to the other rank, only sleep does.
TEST(Idle, SleepsAtOnceWhileSleepBringsWhatItWaitsFor) {
    Caller caller(false);
    const auto spins = [&] {
        const Nanoseconds begun = caller.now;
        EXPECT_GT(caller.polls_until_it_parks(), 0);
        return caller.now - begun >= kSpin;
    };
    const auto learn = [&] {
        for (unsigned wait = 0; wait < Idle::kInARow; ++wait) {
            EXPECT_TRUE(spins()) << wait;
            caller.sleep(Idle::kSoon / 2);
        }
    };
    learn();
    const Nanoseconds until = caller.now + Idle::kContention;
    while (caller.now + Idle::kSoon < until) {
        ASSERT_FALSE(spins());
        caller.sleep(Idle::kSoon / 2);
    }
    caller.now = until;
    // From time to time it spins. Once is enough to see that nothing has changed.
    EXPECT_TRUE(spins());
    caller.sleep(Idle::kSoon / 2);
    EXPECT_FALSE(spins());
    // The other rank has moved to a core of its own, and takes its time.
    caller.now += Idle::kContention;
    EXPECT_TRUE(spins());
    caller.sleep(Idle::kSoon);
    EXPECT_TRUE(spins());
    // Or what it waits for comes while it spins.
    learn();
    caller.now += Idle::kContention;
    caller.polls_until_a_yield_brings_it();
    EXPECT_TRUE(spins());
    caller.sleep(Idle::kSoon / 2);
    EXPECT_TRUE(spins());
}

TEST(Idle, WithYieldsALateOneIsToARankOfTheJob) {
    Caller caller(true);
    caller.yield = Idle::kLateYield * 2;
    const Nanoseconds begun = caller.now;
    ASSERT_GT(caller.polls_until_it_parks(), 0);
    EXPECT_GE(caller.now - begun, kSpin);
}

}  // namespace
}  // namespace rollcall::runtime
