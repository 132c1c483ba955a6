// What comes from a rank before its death counts is received. Over TCP it may come a short time after the notice of the death.
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/errors.hpp"
#include "tests/unit/runtime/lane.hpp"

namespace rollcall::runtime {
namespace {

class LastMessages : public testing::Test, protected EngineUnderTest {
  protected:
    void reach_over_tcp(int rank) { engine.set_peer(rank, 4096, true, true); }
    void bring(int from) {
        MessageHeader header;
        header.source = from;
        header.tag = 7;
        header.communicator = kCommunicator;
        header.ordinal = ordinal_++;
        network.sink->on_message(std::as_bytes(std::span(&header, 1)), {});
    }
    static void expect_failed(const Transfer& transfer, const char* why) {
        ASSERT_TRUE(transfer.done());
        ASSERT_TRUE(transfer.error());
        EXPECT_EQ(transfer.error()->code(), ErrorCode::peer_failed);
        EXPECT_TRUE(contains(transfer.error()->what(), why));
    }
    static void expect_received(const Transfer& transfer) {
        ASSERT_TRUE(transfer.done());
        EXPECT_FALSE(transfer.error());
    }

    Transfer first_ = receive(1, 7), second_ = receive(1, 7), of_other_ = receive(2, 7);

  private:
    std::uint32_t ordinal_ = 0;
};

TEST_F(LastMessages, ThatAreInAQueueAreTakenFirst) {
    engine.begin(first_);
    network.bring(1, 7);
    for (int poll = 0; poll < 45; ++poll) engine.progress();  // almost as often as this network needs
    engine.take_what_has_come();
    engine.on_death(1, "was killed");
    expect_received(first_);
    engine.begin(second_);
    expect_failed(second_, "rank 1 was killed");
}

TEST_F(LastMessages, ThatHaveComeEarlyAreReceivedLater) {
    bring(1);
    engine.on_death(1, "was killed");
    engine.begin(first_);
    expect_received(first_);
    engine.begin(second_);
    expect_failed(second_, "rank 1 was killed");
}

TEST_F(LastMessages, OverTcpMayComeUntilTheConnectionIsClosed) {
    reach_over_tcp(1);
    engine.begin(first_);
    const Nanoseconds before = monotonic_now();
    engine.on_death(1, "was killed");
    engine.tick(before);
    engine.begin(second_);
    EXPECT_FALSE(first_.done());
    bring(1);
    expect_received(first_);
    EXPECT_FALSE(second_.done());
    engine.on_peer_unreachable(1, "the connection was closed");
    EXPECT_EQ(engine.due(), 0) << "at once";
    engine.tick(monotonic_now());
    expect_failed(second_, "rank 1 was killed");
}

TEST_F(LastMessages, OverTcpDoNotComeForLong) {
    reach_over_tcp(1);
    engine.begin(first_);
    engine.on_death(1, "was killed");
    EXPECT_LT(engine.due(), kNever);
    engine.tick(engine.due());
    expect_failed(first_, "rank 1 was killed");
}

TEST_F(LastMessages, AreNotAwaitedFromARankThatTheTransportHasLost) {
    reach_over_tcp(1);
    engine.begin(first_);
    engine.on_peer_unreachable(1, "the connection was closed");
    EXPECT_FALSE(first_.done()) << "the reason is not known yet";
    engine.on_death(1, "was killed");
    expect_failed(first_, "rank 1 was killed");
}

TEST_F(LastMessages, GoBeforeTheEndOfTheJob) {
    reach_over_tcp(1);
    engine.begin(first_);
    engine.begin(of_other_);
    engine.on_death(1, "was killed");
    engine.on_job_ended("the job cannot go on");
    EXPECT_FALSE(of_other_.done());
    bring(1);
    expect_received(first_);
    engine.begin(second_);
    engine.tick(engine.due());
    expect_failed(second_, "rank 1 was killed");
    expect_failed(of_other_, "the job cannot go on");
}

TEST_F(LastMessages, OfLaterDeathsDoNotPutOffTheEndOfTheJob) {
    for (const int rank : {1, 2}) reach_over_tcp(rank);
    engine.begin(of_other_);
    engine.on_death(1, "was killed");
    engine.on_job_ended("the job cannot go on");
    const Nanoseconds end = engine.due();
    engine.on_death(2, "was killed, too");
    EXPECT_EQ(engine.due(), end);
    engine.tick(end);
    EXPECT_TRUE(of_other_.done());
}

TEST_F(LastMessages, ToADeadRankFailAtOnce) {
    reach_over_tcp(1);
    engine.on_death(1, "was killed");
    Transfer send(Transfer::Direction::send, 1, kCommunicator, 7, {});
    engine.begin(send);
    expect_failed(send, "rank 1 was killed");
}

}  // namespace
}  // namespace rollcall::runtime
