// Tests whether hosts that give signs of life are told from silent ones, over loopback, at made-up times. A silent host is a socket whose
// queue is full.
#include "runtime/engine/lifelines.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tests/sanitizers.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::runtime {
namespace {

constexpr Nanoseconds kOneSecond = 1'000'000'000, kHour = 3600 * kOneSecond, kSilence = 10 * kOneSecond;

NetAddress address(const char* text) {
    NetAddress address;
    EXPECT_TRUE(parse_network(text, address));
    return address;
}

Interface interface_at(std::vector<NetAddress> addresses) {
    Interface interface;
    interface.name = "data0";
    interface.addresses = std::move(addresses);
    return interface;
}

Lifelines lifelines_at(const char* text) { return Lifelines(kSilence, std::vector{interface_at({address(text)})}); }

std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

// A host that answers, or keeps silent: its kernel drops what comes for a socket whose queue is full.
class Stranger {
  public:
    Stranger() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
        socklen_t length = sizeof where;
        auto* const raw = reinterpret_cast<sockaddr*>(&where);
        EXPECT_EQ(::bind(socket_.get(), raw, length), 0);
        EXPECT_EQ(::listen(socket_.get(), 0), 0);
        EXPECT_EQ(::getsockname(socket_.get(), raw, &length), 0);
        where_ = where;
        const auto bytes = std::as_bytes(std::span(&where.sin_addr.s_addr, 1)), port = std::as_bytes(std::span(&where.sin_port, 1));
        address_.assign(bytes.begin(), bytes.end());
        address_.insert(address_.end(), port.begin(), port.end());
    }
    const std::vector<std::byte>& address() const { return address_; }

    void fall_silent() {
        for (;;) {
            Descriptor& caller = callers_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
            if (::connect(caller.get(), reinterpret_cast<const sockaddr*>(&where_), sizeof where_) == 0) continue;
            pollfd descriptor{caller.get(), POLLOUT, 0};
            if (::poll(&descriptor, 1, 50) == 0) return;
        }
    }
    /// Makes the host answer for good: no socket listens there any more, so the kernel refuses.
    void speak() {
        socket_.reset();
        callers_.clear();
    }

  private:
    Descriptor socket_;
    sockaddr_in where_{};
    std::vector<std::byte> address_;
    std::vector<Descriptor> callers_;
};

// Waits for these ranks, and looks for answers when the engine wants it, until the host is reported as silent or the time is over.
std::vector<SignsOfLife::Silence> wait_for(Lifelines& lifelines, const std::vector<int>& awaited, Nanoseconds& now, Nanoseconds until) {
    for (;;) {
        const auto look = lifelines.look(now, awaited);
        EXPECT_GT(look.next, now);
        if (!look.silent.empty() || look.next > until) return look.silent;
        now = look.next;
    }
}

TEST(Lifelines, AProcessAnswersThatNeverRuns) {
    Lifelines mine = lifelines_at("127.0.0.1");
    const Lifelines its = lifelines_at("127.0.0.2");
    ASSERT_EQ(its.address().size(), 6u);
    mine.add(1, its.address());
    Nanoseconds now = 0;
    EXPECT_TRUE(wait_for(mine, {1}, now, kHour).empty());
    EXPECT_GT(now, kHour - kSilence);
}

TEST(Lifelines, AnswersOverIPv6Too) {
    const Lifelines its = lifelines_at("::1");
    if (its.address().empty()) GTEST_SKIP() << "this host has no IPv6";
    ASSERT_EQ(its.address().size(), 18u);
    Lifelines mine = lifelines_at("127.0.0.1");
    mine.add(1, its.address());
    Nanoseconds now = 0;
    EXPECT_TRUE(wait_for(mine, {1}, now, kHour).empty());
}

TEST(Lifelines, AskAtGrowingIntervalsAndHoldNothingMeanwhile) {
    Lifelines mine = lifelines_at("127.0.0.1");
    const Lifelines its = lifelines_at("127.0.0.2");
    mine.add(1, its.address());
    const auto before = open_descriptors();
    std::vector<Nanoseconds> intervals;
    for (Nanoseconds now = 0; intervals.size() < 6;) {
        const auto look = mine.look(now, std::vector{1});
        if (look.next - now > kOneSecond / 2) {
            intervals.push_back(look.next - now);
            EXPECT_EQ(open_descriptors(), before);
        }
        now = look.next;
    }
    EXPECT_EQ(intervals,
              (std::vector<Nanoseconds>{kOneSecond, 2 * kOneSecond, 4 * kOneSecond, 5 * kOneSecond, 5 * kOneSecond, 5 * kOneSecond}));
}

TEST(Lifelines, TellOfAHostThatFallsSilentWithAllItsRanksAndOnce) {
    Stranger stranger;
    Lifelines mine = lifelines_at("127.0.0.1");
    mine.add(3, stranger.address());
    mine.add(5, stranger.address());
    Nanoseconds now = 0;
    EXPECT_TRUE(wait_for(mine, {3}, now, kOneSecond).empty());
    stranger.fall_silent();
    const Nanoseconds silent_from = now;
    const auto silent = wait_for(mine, {0, 3, 3}, now, kHour);
    ASSERT_EQ(silent.size(), 1u);
    EXPECT_EQ(silent[0].ranks, (std::vector{3, 5}));
    EXPECT_TRUE(contains(silent[0].what, "has not answered over the network (127.0.0.2) for 10."));
    EXPECT_GE(now - silent_from, kSilence);
    EXPECT_LE(now - silent_from, kSilence + kSilence / 2);
    EXPECT_EQ(mine.look(now + kOneSecond, std::vector{3, 5}).next, kNever);
}

TEST(Lifelines, AHostThatHasNeverAnsweredMayHaveAFirewall) {
    Stranger stranger;
    stranger.fall_silent();
    Lifelines mine = lifelines_at("127.0.0.1");
    mine.add(1, stranger.address());
    Nanoseconds now = 0;
    EXPECT_TRUE(wait_for(mine, {1}, now, kHour).empty());
}

TEST(Lifelines, TimeInWhichThisProcessDidNotRunIsNoSilence) {
    Stranger stranger;
    Lifelines mine = lifelines_at("127.0.0.1");
    mine.add(1, stranger.address());
    Nanoseconds now = 0;
    EXPECT_TRUE(wait_for(mine, {1}, now, kOneSecond).empty());
    stranger.fall_silent();
    // A question is under way. Then this process is stopped for an hour.
    now += 10 * kOneSecond;
    EXPECT_TRUE(mine.look(now, std::vector{1}).silent.empty());
    now += kHour;
    EXPECT_TRUE(mine.look(now, std::vector{1}).silent.empty());
    stranger.speak();
    EXPECT_TRUE(wait_for(mine, {1}, now, now + kHour).empty());
}

TEST(Lifelines, SilenceCountsOnlyWhileSomebodyWaits) {
    Stranger stranger;
    Lifelines mine = lifelines_at("127.0.0.1");
    mine.add(1, stranger.address());
    Nanoseconds now = 0;
    EXPECT_TRUE(wait_for(mine, {1}, now, kOneSecond).empty());
    stranger.fall_silent();
    const auto before = open_descriptors();
    for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(wait_for(mine, {1}, now, now + kSilence - 2 * kOneSecond).empty());
        EXPECT_EQ(mine.look(now, {}).next, kNever);
        EXPECT_EQ(open_descriptors(), before);
    }
}

TEST(Lifelines, WhatCannotBeAskedIsNotSilent) {
    if (test::kNeedsDescriptors) GTEST_SKIP() << test::kNeedsDescriptors;
    Lifelines mine = lifelines_at("127.0.0.1");
    const Lifelines its = lifelines_at("127.0.0.2");
    mine.add(1, its.address());
    Nanoseconds now = 0;
    EXPECT_TRUE(wait_for(mine, {1}, now, kOneSecond).empty());
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit none{0, limit.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto silent = wait_for(mine, {1}, now, kHour);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_TRUE(silent.empty());
}

TEST(Lifelines, AskFewHostsAtATimeAndAllInTurn) {
    Lifelines mine = lifelines_at("127.0.0.1");
    std::vector<Lifelines> others;
    std::vector<int> ranks;
    for (int rank = 1; rank <= 30; ++rank) {
        others.push_back(lifelines_at(fmt::format("127.0.1.{}", rank).c_str()));
        mine.add(rank, others.back().address());
        ranks.push_back(rank);
    }
    const auto before = open_descriptors();
    Nanoseconds now = 0;
    int looks = 0;
    for (SignsOfLife::Look look; now < 750 * kMillisecond; now = look.next, ++looks) {
        look = mine.look(now, ranks);
        EXPECT_LE(open_descriptors() - before, 4);
    }
    // Eight rounds, a tenth of a second apart, and at most as many looks for their answers.
    EXPECT_GE(looks, 7);
    EXPECT_LE(looks, 60);
    // All have answered.
    EXPECT_GE(mine.look(now, ranks).next, kOneSecond);
}

TEST(Lifelines, NoticeASilentHostAsSoonAmongManyHosts) {
    Stranger stranger;
    Lifelines mine = lifelines_at("127.0.0.1");
    mine.add(0, stranger.address());
    Nanoseconds now = 0;
    EXPECT_TRUE(wait_for(mine, {0}, now, kOneSecond).empty());
    stranger.fall_silent();
    const Nanoseconds silent_from = now;
    const Lifelines its = lifelines_at("127.0.0.2");
    std::vector<std::byte> address(its.address().begin(), its.address().end());
    std::vector<int> ranks{0};
    for (int rank = 1; rank <= 2000; ++rank) {
        address[1] = std::byte{1};
        address[2] = static_cast<std::byte>(rank / 250);
        address[3] = static_cast<std::byte>(1 + rank % 250);
        mine.add(rank, address);
        ranks.push_back(rank);
    }
    const auto silent = wait_for(mine, ranks, now, kHour);
    ASSERT_EQ(silent.size(), 1u);
    EXPECT_EQ(silent[0].ranks, std::vector{0});
    EXPECT_LE(now - silent_from, kSilence + kSilence / 2);
}

TEST(Lifelines, AreAtTheAddressThatOthersCanReach) {
    const auto at = [](std::vector<Interface> interfaces) {
        const Lifelines lifelines(kSilence, interfaces);
        std::string text;
        for (std::size_t i = 0; i + 2 < lifelines.address().size(); ++i)
            text += fmt::format("{}{}", i ? "." : "", std::to_integer<int>(lifelines.address()[i]));
        return text;
    };
    EXPECT_EQ(at({}), "");
    EXPECT_EQ(at({interface_at({})}), "");
    EXPECT_EQ(at({interface_at({address("fe80::1")})}), "");
    EXPECT_EQ(at({interface_at({address("fe80::1"), address("127.0.0.3")})}), "127.0.0.3");
    EXPECT_EQ(at({interface_at({address("::1"), address("127.0.0.3")})}), "127.0.0.3");
    EXPECT_EQ(at({interface_at({}), interface_at({address("127.0.0.3")})}), "127.0.0.3");
    Interface rdma = interface_at({address("127.0.0.4")});
    rdma.rdma = true;
    EXPECT_EQ(at({interface_at({address("127.0.0.3")}), rdma}), "127.0.0.4");
    rdma.addresses.clear();
    EXPECT_EQ(at({interface_at({address("127.0.0.3")}), rdma}), "");
}

TEST(Lifelines, NeverAskWhoHasNone) {
    Lifelines mine = lifelines_at("127.0.0.1");
    mine.add(1, {});
    mine.add(2, std::vector(7, std::byte{1}));
    EXPECT_EQ(mine.look(0, std::vector{0, 1, 2, 3}).next, kNever);
}

}  // namespace
}  // namespace rollcall::runtime
