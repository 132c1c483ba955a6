// A hub with connections: what is routed where, what is told together, and notices that a rank does not take.
#include "bootstrap/hub_host.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <rollcall/error.hpp>

#include "bootstrap/notice_queue.hpp"
#include "foundation/ends.hpp"

namespace rollcall::bootstrap {
namespace {

/// Notes what it is given: "rank 0: released".
class NotedRoutes : public HubHost::Routes {
  public:
    void to_rank(int rank, const FrameToSend& frame) override { note("rank", rank, frame); }
    void notify_ranks(const FrameToSend& notice) override { note("notice", 0, notice); }
    void to_below(int hub, const FrameToSend& frame) override { note("below", hub, frame); }
    void to_above(const FrameToSend& frame) override { note("above", 0, frame); }

    std::vector<std::string> take() { return std::exchange(all_, {}); }

  private:
    void note(const char* where, int which, const FrameToSend& frame) {
        all_.push_back(fmt::format("{} {}: {}", where, which, static_cast<int>(type_of(*frame))));
    }
    std::vector<std::string> all_;
};

Frame frame_from(const Blob& bytes) {
    Inbox inbox(kLongestRequest);
    inbox.append(bytes);
    return *inbox.next();
}

Frame barrier_call(std::uint64_t sequence) { return frame_from(FrameWriter(FrameType::barrier).u64(sequence).finish()); }

std::string delivery(const char* where, int which, FrameType type) {
    return fmt::format("{} {}: {}", where, which, static_cast<int>(type));
}

TEST(HubHosts, RouteAnswersToRanksAndHubsBelow) {
    NotedRoutes routes;
    HubHost host(routes, "a", Hub(3, {0, 1}, {{2}}, true));
    EXPECT_TRUE(host.hear_rank(0, barrier_call(1)));
    EXPECT_TRUE(host.hear_rank(1, barrier_call(1)));
    EXPECT_TRUE(routes.take().empty());
    host.hear_below(
        0, frame_from(FrameWriter(FrameType::contribution).u64(1).u32(1).u32(1).i32(2).blob(std::span<const std::byte>()).finish()));
    EXPECT_EQ(routes.take(), (std::vector{delivery("below", 0, FrameType::released), delivery("rank", 0, FrameType::released),
                                          delivery("rank", 1, FrameType::released)}));
}

TEST(HubHosts, GiveContributionsToTheHubAbove) {
    NotedRoutes routes;
    HubHost host(routes, "b", Hub(3, {2}, {}, false));
    EXPECT_TRUE(host.hear_rank(2, barrier_call(1)));
    EXPECT_EQ(routes.take(), std::vector{delivery("above", 0, FrameType::contribution)});
}

TEST(HubHosts, LeaveOtherFramesToTheirOwners) {
    NotedRoutes routes;
    HubHost host(routes, "a", Hub(2, {0, 1}, {}, true));
    EXPECT_FALSE(host.hear_rank(0, frame_from(FrameWriter(FrameType::abort).i32(1).text("why").finish())));
    EXPECT_THROW(host.hear_rank(0, frame_from(FrameWriter(FrameType::barrier).u32(1).finish())), Error);
    EXPECT_TRUE(routes.take().empty());
}

TEST(HubHosts, NotifyOfDeathsAtOnceAndOfDeparturesTogether) {
    NotedRoutes routes;
    HubHost host(routes, "a", Hub(5, {0, 1, 2, 4}, {{3}}, true));
    EXPECT_EQ(host.tick_at(), kNever);
    const Nanoseconds before = monotonic_now();
    EXPECT_TRUE(host.hear_rank(0, frame_from(FrameWriter(FrameType::leave).finish())));
    EXPECT_TRUE(host.is_lost(0));
    const Nanoseconds due = host.tick_at();
    ASSERT_NE(due, kNever);
    EXPECT_GT(due, before);
    EXPECT_TRUE(host.hear_rank(1, frame_from(FrameWriter(FrameType::leave).finish())));
    EXPECT_EQ(host.tick_at(), due);  // the second waits no longer than the first
    EXPECT_TRUE(routes.take().empty());
    host.lose(2, "died");  // losses that follow wait for a shorter time
    const Nanoseconds sooner = host.tick_at();
    EXPECT_LE(sooner, due);
    EXPECT_EQ(routes.take(), (std::vector{delivery("below", 0, FrameType::loss), delivery("notice", 0, FrameType::notice)}));
    while (host.tick_at() != kNever) host.tick();
    EXPECT_GE(monotonic_now(), sooner);
    EXPECT_EQ(routes.take(), std::vector{delivery("below", 0, FrameType::loss)});
}

TEST(Hubs, OfANodeWhoseRanksLeaveTellItOnce) {
    Hub hub(4, {1, 2, 3}, {}, false);
    for (const int rank : {1, 2}) EXPECT_TRUE(hub.lose(rank, "b", "has left the job", false).empty());
    EXPECT_TRUE(hub.has_departures());
    const auto told = hub.lose(3, "b", "has left the job", false);
    EXPECT_FALSE(hub.has_departures());
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].to, Hub::Delivery::To::above);
}

/// When a job fails, many ranks end in the same way.
TEST(Hubs, LossesOfOneSentenceAreToldTogetherAfterTheFirst) {
    Hub hub(7, {0}, {{1, 2, 3}, {4, 5, 6}}, true);
    const auto lose = [&](int rank, const char* how) {
        Inbox inbox(kLongestAnswer);
        inbox.append(Hub::encode_loss({{rank}, "b", how, true}, 0));
        int below = 0;
        for (const auto& one : hub.hear_below(rank > 3, *inbox.next())) below += one.to == Hub::Delivery::To::below;
        return below;
    };
    EXPECT_EQ(lose(1, "exited with code 1"), 2) << "at once, to each hub";
    EXPECT_EQ(lose(2, "exited with code 1"), 0);
    EXPECT_EQ(lose(4, "exited with code 1"), 0);
    EXPECT_EQ(lose(5, "was killed"), 2) << "another sentence";
    EXPECT_EQ(hub.tell_collected().size(), 2u) << "one frame for each hub";
    EXPECT_EQ(lose(6, "exited with code 1"), 2) << "a while later";
}

/// The hub above would refuse so long a frame, and the ranks of this hub would count as lost.
TEST(Hubs, RefuseAnExchangeWhoseContributionIsTooLong) {
    constexpr std::size_t kLongest = 100;
    Hub root(4, {0, 1}, {{2, 3}}, true, kLongest), below(4, {2, 3}, {}, false, kLongest);
    const auto body_of = [](const Hub::Delivery& delivery) {
        return Frame{type_of(*delivery.frame), Blob(delivery.frame->begin() + kHeaderBytes, delivery.frame->end())};
    };
    const auto expect_failed = [&](const Hub::Delivery& delivery, Hub::Delivery::To to) {
        EXPECT_EQ(delivery.to, to);
        const Frame frame = body_of(delivery);
        ASSERT_EQ(frame.type, FrameType::failed);
        FrameReader reader(frame.body);
        EXPECT_EQ(reader.u64(), 1u);
        EXPECT_EQ(static_cast<ErrorCode>(reader.u32()), ErrorCode::invalid_argument);
        EXPECT_EQ(reader.i32(), -1);
        EXPECT_EQ(reader.text(), "the blobs of 2 ranks have 112 bytes together; at most 100 are allowed");
    };
    EXPECT_TRUE(below.arrive(2, Hub::Kind::exchange, 1, Blob(40)).empty());
    const auto up = below.arrive(3, Hub::Kind::exchange, 1, Blob(40));
    ASSERT_EQ(up.size(), 1u);
    EXPECT_EQ(up[0].to, Hub::Delivery::To::above);
    EXPECT_LE(up[0].frame->size(), kHeaderBytes + kLongest);
    const auto down = root.hear_below(0, body_of(up[0]));
    ASSERT_EQ(down.size(), 1u);
    expect_failed(down[0], Hub::Delivery::To::below);
    const auto answers = below.hear_above(body_of(down[0]));
    ASSERT_EQ(answers.size(), 2u);
    for (const auto& answer : answers) expect_failed(answer, Hub::Delivery::To::rank);
    const auto later = root.arrive(0, Hub::Kind::exchange, 1, {});
    ASSERT_EQ(later.size(), 1u);
    expect_failed(later[0], Hub::Delivery::To::rank);
}

std::shared_ptr<const Blob> notice_about(int number) {
    return std::make_shared<const Blob>(encode_notice({number, std::string(200, 'x')}));
}

TEST(NoticeQueues, KeepTheOrderOfWhatIsNotTakenYet) {
    constexpr int kNotices = 5000;  // more than a socket holds
    Poller poller;
    NoticeQueue queue(poller);
    queue.send(notice_about(-1));  // no rank is connected
    Ends ends = make_sockets(SOCK_SEQPACKET);
    ASSERT_TRUE(ends);
    ::fcntl(ends.second.get(), F_SETFL, O_NONBLOCK);
    queue.open(std::move(ends.first));
    for (int i = 0; i < kNotices; ++i) queue.send(notice_about(i));
    int next = 0;
    const auto read_all = [&] {
        std::array<std::byte, 1024> record;
        for (ssize_t count; (count = ::recv(ends.second.get(), record.data(), record.size(), 0)) > 0; ++next) {
            const Frame frame = frame_from(Blob(record.begin(), record.begin() + count));
            ASSERT_EQ(decode_notice(frame.body).rank, next);
        }
    };
    read_all();
    EXPECT_GT(next, 0);
    EXPECT_LT(next, kNotices);
    for (const Nanoseconds until = deadline_after(std::chrono::seconds(20)); next < kNotices && monotonic_now() < until; read_all()) {
        poller.wait(until);
    }
    EXPECT_EQ(next, kNotices);
}

TEST(NoticeQueues, DropWhatARankThatIsGoneDoesNotTake) {
    Poller poller;
    NoticeQueue queue(poller);
    Ends ends = make_sockets(SOCK_SEQPACKET);
    ASSERT_TRUE(ends);
    queue.open(std::move(ends.first));
    ends.second.reset();
    queue.send(notice_about(1));
    EXPECT_TRUE(queue.is_open());
    queue.close();
    EXPECT_FALSE(queue.is_open());
    queue.send(notice_about(2));
}

TEST(NoticeQueues, TellOnceThatTheOtherEndIsGone) {
    for (const bool full : {false, true}) {
        Poller poller;
        NoticeQueue queue(poller);
        Ends ends = make_sockets(SOCK_SEQPACKET);
        ASSERT_TRUE(ends);
        Descriptor second(::dup(ends.second.get()));
        int told = 0;
        queue.open(std::move(ends.first), [&] { ++told; });
        for (int i = 0; i < (full ? 5000 : 1); ++i) queue.send(notice_about(i));
        poller.wait(0);
        ends.second.reset();
        poller.wait(0);
        EXPECT_EQ(told, 0) << "another process still has the other end";
        second.reset();
        poller.wait(0);
        poller.wait(0);
        EXPECT_EQ(told, 1);
        EXPECT_FALSE(queue.is_open());
    }
}

TEST(Deadlines, AreNeverForForever) {
    EXPECT_EQ(deadline_after(kForever), kNever);
    EXPECT_EQ(deadline_after(kForever - std::chrono::nanoseconds(1)), kNever);
    const Nanoseconds before = monotonic_now();
    const Nanoseconds deadline = deadline_after(std::chrono::seconds(1));
    EXPECT_GE(deadline, before + 1'000'000'000);
    EXPECT_LE(deadline, monotonic_now() + 1'000'000'000);
}

}  // namespace
}  // namespace rollcall::bootstrap
