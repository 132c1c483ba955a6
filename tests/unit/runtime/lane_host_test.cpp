// An event loop that drives a lane looks for several messages in turn and then sleeps. What one look takes in may change the answer of an
// earlier one, so the loop must look again first.
#include <gtest/gtest.h>

#include "tests/unit/runtime/lane.hpp"

namespace rollcall::runtime {
namespace {

class LaneOfALoop : public testing::Test {
  protected:
    // What has changed counts once.
    void expect_that_it_stays_awake() {
        EXPECT_FALSE(test_.lane.prepare_to_sleep());
        EXPECT_TRUE(test_.lane.prepare_to_sleep());
    }

    LaneUnderTest test_{host_driven()};
    const MatchKey key_{kCommunicator, 0, 7, 1};
};

TEST_F(LaneOfALoop, StaysAwakeForAMessageThatHasComeEarly) {
    EXPECT_TRUE(test_.lane.prepare_to_sleep());
    test_.network.bring(1, 7);
    while (test_.engine.early_messages() == 0) test_.lane.progress();
    expect_that_it_stays_awake();
}

TEST_F(LaneOfALoop, StaysAwakeForTheDeathOfARankThatNothingWaitsFor) {
    EXPECT_TRUE(test_.lane.prepare_to_sleep());
    EXPECT_EQ(test_.engine.size_of_next(key_), std::nullopt);
    test_.lane.as_owner([](Engine& engine) { engine.on_death(1, "was killed"); });
    EXPECT_THROW(test_.engine.size_of_next(key_), Error);
    expect_that_it_stays_awake();
}

TEST_F(LaneOfALoop, StaysAwakeForTheEndOfTheJob) {
    EXPECT_TRUE(test_.lane.prepare_to_sleep());
    EXPECT_EQ(test_.engine.size_of_next(key_), std::nullopt);
    test_.lane.as_owner([](Engine& engine) { engine.on_job_ended("the job has ended"); });
    EXPECT_THROW(test_.engine.size_of_next(key_), Error);
    expect_that_it_stays_awake();
}

// The message is not announced: it must be asked for.
TEST_F(LaneOfALoop, StaysAwakeForABacklogThatMayHaveTheMessage) {
    EXPECT_TRUE(test_.lane.prepare_to_sleep());
    EXPECT_EQ(test_.engine.size_of_next(key_), std::nullopt);
    test_.lane.as_owner([&](Engine&) {
        CollectiveHeader header;
        header.base.kind = MessageKind::backlog;
        header.base.flags = kHasBacklog;
        header.base.source = 1;
        test_.network.sink->on_message(std::as_bytes(std::span(&header, 1)), {});
    });
    expect_that_it_stays_awake();
}

// Words that tell other ranks of a failure stay under way, because their receiver takes nothing.
TEST(LaneWords, HaveFiftyMillisecondsToLeave) {
    LaneUnderTest test(host_driven());
    {
        const auto group = std::make_shared<Group>();
        group->id = kCommunicator;
        group->size = 3;
        CommunicatorState state(group, 0);
        test.engine.add(state);
        test.engine.remove(state);
    }
    test.network.holds_texts = true;
    test.lane.as_owner([&](Engine& engine) {
        CollectiveHeader probe;
        probe.base.kind = MessageKind::probe;
        probe.base.communicator = kCommunicator;
        probe.base.source = 1;
        probe.sequence = 1;
        engine.on_message(std::as_bytes(std::span(&probe, 1)), {});
    });
    ASSERT_TRUE(test.engine.has_failure_notices_under_way());
    const Nanoseconds begin = monotonic_now();
    test.lane.flush_failure_notices();
    EXPECT_GE(monotonic_now() - begin, 50'000'000);
    EXPECT_TRUE(test.engine.has_failure_notices_under_way());
    test.network.held->complete(transport::Outcome::ok);
    EXPECT_FALSE(test.engine.has_failure_notices_under_way());
}

IdlePolicy yielding() {
    IdlePolicy policy = host_driven();
    policy.yield = true;
    return policy;
}

// A yield may take a turn of all other processes of the machine.
TEST(Lane, WithYieldsLooksAtDeadlinesAfterEachOfThem) {
    LaneUnderTest test(yielding());
    Transfer transfer = LaneUnderTest::receive(1, 7);
    test.lane.start(transfer);
    const std::uint64_t before = test.network.polls;
    EXPECT_FALSE(test.lane.wait(transfer, Timeout(1)));
    EXPECT_LE(test.network.polls - before, 2u);
    test.lane.abandon(transfer, Error(ErrorCode::timeout, "the test is over"));
}

// The message comes while another process has the core, and before the deadline.
TEST(Lane, WithYieldsTakesWhatCameInTheLastOne) {
    LaneUnderTest test(yielding());
    Transfer transfer = LaneUnderTest::receive(1, 7);
    test.lane.start(transfer);
    test.network.bring(1, 7);
    for (int poll = 2; poll < NoNetwork::kPollsOnItsWay; ++poll) test.engine.progress();
    ASSERT_FALSE(transfer.done());
    EXPECT_TRUE(test.lane.wait(transfer, Timeout(1))) << "the first poll does not find it, the one after the yield does";
}

}  // namespace
}  // namespace rollcall::runtime
