/// \file
/// Where the ranks of a host meet, and processes that hold such a place already.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <fstream>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bootstrap/poller.hpp"
#include "bootstrap/rendezvous/authenticating_acceptor.hpp"
#include "bootstrap/rendezvous/meeting_place.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"
#include "tests/unit/bootstrap/rendezvous.hpp"
#include "tests/unit/errors.hpp"
#include "tests/unit/no_more_files.hpp"

namespace rollcall::bootstrap::rendezvous_test {
namespace {

using namespace std::chrono_literals;

TEST(Rendezvous, WaitsUntilAnEarlierJobOfTheSameKeyHasLetGoOfTheHost) {
    // As when torchrun restarts a job: the earlier job still holds the name of the host, so no rank can lead the host at first. When the
    // name is free, rank 0 or another rank of the host takes it.
    Crew crew(4);
    crew.host_of = [](int rank) { return rank / 2; };
    crew.options.key = Key::random();
    crew.options.invitation_may_be_stale = true;
    Descriptor earlier = MeetingPlace(*crew.options.key, "host0", {}).listen();
    ASSERT_TRUE(earlier);
    std::thread ends([&] {
        std::this_thread::sleep_for(200ms);
        earlier.reset();
    });
    crew.run([&](int rank, Rendezvous& rendezvous) {
        EXPECT_EQ(rendezvous.place().hosts, 2);
        EXPECT_EQ(rendezvous.place().local_rank, rank % 2);
        rendezvous.barrier({}, kLimit);
        rendezvous.leave();
    });
    ends.join();
    crew.expect_no_errors();
}

TEST(Rendezvous, OfAHostWhoseNameAnotherUserHasTakenIsAtTheNext) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    Crew crew(4);
    crew.options.key = Key::random();
    crew.options.invitation_may_be_stale = true;  // as under torchrun, whose jobs have the same key again and again
    Descriptor others;
    {
        const OtherUser other;
        others = MeetingPlace(*crew.options.key, "host0", {}).listen();
    }
    ASSERT_TRUE(others);
    crew.run([&](int, Rendezvous& rendezvous) {
        EXPECT_EQ(rendezvous.place().hosts, 1);
        EXPECT_EQ(rendezvous.place().local_size, 4);
        rendezvous.barrier({}, kLimit);
        rendezvous.leave();
    });
    crew.expect_no_errors();
}

/// Holds this abstract name, and accepts connections or not.
Descriptor hold_name(const std::string& name, bool lets_in) {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    if (lets_in) {
        EXPECT_EQ(::listen(socket.get(), 5), 0);
    }
    return socket;
}

/// Tries until it has a listening socket, as ranks do.
Descriptor listen_patiently(MeetingPlace& place) {
    for (const Nanoseconds until = deadline_after(kLimit); monotonic_now() < until; std::this_thread::sleep_for(5ms)) {
        EXPECT_FALSE(place.connect());
        if (Descriptor listener = place.listen()) return listener;
    }
    return Descriptor();
}

TEST(MeetingPlaces, HeldBySomebodyWhoLetsNobodyInArePassedOverByAll) {
    const std::string name = fmt::format("rollcall-test-{}-silent", ::getpid());
    const Descriptor held = hold_name(name + "-0", false);
    MeetingPlace leader(name, {});
    const Descriptor listener = listen_patiently(leader);
    ASSERT_TRUE(listener);
    MeetingPlace late(name, {});
    EXPECT_TRUE(late.connect());
    // This one listens without connecting first. That is refused, because the process that holds the first name may be about to listen.
    MeetingPlace hasty(name, {});
    EXPECT_FALSE(hasty.listen());
}

/// The leader may be busy when many ranks come at once. But a process that takes nobody out of its queue is no leader.
TEST(MeetingPlaces, WhoseQueueIsFullArePassedOverOnlyAfterALongTime) {
    const std::string name = fmt::format("rollcall-test-{}-full", ::getpid());
    const Descriptor holder = hold_name(name + "-0", true);
    std::vector<Descriptor> queued;
    MeetingPlace others(name, {});
    while (Descriptor one = others.connect()) queued.push_back(std::move(one));
    EXPECT_GT(queued.size(), 0u);
    const MeetingPlace::Patience patience{10 * kMillisecond, 200 * kMillisecond};
    MeetingPlace place(name, patience);
    const Nanoseconds begin = monotonic_now();
    EXPECT_TRUE(listen_patiently(place));
    EXPECT_GE(monotonic_now() - begin, patience.full) << "a leader that is busy for a moment gets a second one";
}

TEST(MeetingPlaces, ArePassedOverInTimeForTheStartOfTheJob) {
    const auto names = static_cast<Nanoseconds>(MeetingPlace::kNames);
    for (const Timeout limit : {Timeout(1s), Timeout(20s), Timeout(60s), kForever}) {
        const auto patience = MeetingPlace::Patience::within(limit);
        EXPECT_GT(patience.silent, 0);
        EXPECT_LE(names * patience.silent, limit.count() / 2);
        EXPECT_LE(patience.full, limit.count() / 2);
        EXPECT_LE(patience.full, MeetingPlace::Patience().full);
    }
}

TEST(MeetingPlaces, WhoseQueueWasFullAreNotPassedOverOnceTheyLetSomebodyIn) {
    const std::string name = fmt::format("rollcall-test-{}-busy", ::getpid());
    const Descriptor leader = hold_name(name + "-0", true);
    std::vector<Descriptor> queued;
    const MeetingPlace::Patience patience{5 * kMillisecond, 50 * kMillisecond};
    MeetingPlace place(name, patience);
    while (Descriptor one = place.connect()) queued.push_back(std::move(one));
    ASSERT_GT(queued.size(), 0u);
    std::this_thread::sleep_for(std::chrono::nanoseconds(2 * patience.full));
    ASSERT_TRUE(Descriptor(::accept(leader.get(), nullptr, nullptr)));
    EXPECT_TRUE(place.connect());
    EXPECT_FALSE(place.listen()) << "a second leader";
}

/// Rank 0 may come late. Until then the queue of the leader must not stay full, or it would be taken for somebody who lets nobody in.
TEST(MeetingPlaces, OfALeaderHaveRoomBeforeRank0HasCome) {
    if (::geteuid() != 0) GTEST_SKIP() << "a network namespace with a short queue needs root";
    // Threads that this thread starts are in its network namespace, too. Rank 0 is not reached there, because all links are down.
    std::async(std::launch::async, [] {
        ASSERT_EQ(::unshare(CLONE_NEWNET), 0);
        constexpr int kQueue = 3;
        ASSERT_TRUE(std::ofstream("/proc/sys/net/core/somaxconn") << kQueue << std::flush);
        const Key key = Key::random();
        const std::string invitation = Invitation{"127.0.0.1", 1, key}.text();
        std::atomic<bool> ended = false;
        const Share share = [&](const std::string&) {
            if (ended) throw Error(ErrorCode::state, "the test is over");
            return invitation;
        };
        auto leader = std::async(std::launch::async, [&] {
            RendezvousOptions options;
            options.host = "host1";
            options.join_timeout = 4 * kLimit;
            options.invitation_may_be_stale = true;  // so it asks again and again, until the test is over
            EXPECT_THROW(Rendezvous("a test", 1, 2, share, options), Error);
        });
        MeetingPlace place(key, "host1", {});
        std::vector<Descriptor> ranks;
        for (const Nanoseconds until = deadline_after(kLimit); ranks.size() < 10 * kQueue && monotonic_now() < until;) {
            if (Descriptor rank = place.connect())
                ranks.push_back(std::move(rank));
            else
                std::this_thread::sleep_for(1ms);
        }
        EXPECT_EQ(ranks.size(), 10 * kQueue);
        ended = true;
        leader.get();
    }).get();
}

// The leader of a host needs descriptors itself.
TEST(MeetingPlaces, AcceptNobodyEarlyWhereThereAreFewDescriptors) {
    const std::string name = fmt::format("rollcall-test-{}-few", ::getpid());
    MeetingPlace place(name, {});
    const Descriptor listener = place.listen();
    ASSERT_TRUE(listener);
    const Descriptor rank = place.connect();
    ASSERT_TRUE(rank);
    std::deque<Descriptor> early;
    std::string why;
    {
        const NoMoreFiles none;
        accept_waiting(listener, early);
        EXPECT_FALSE(connect_to(*SocketAddress::parse("127.0.0.1", 1), kNever, why));
    }
    EXPECT_TRUE(early.empty());
    EXPECT_NE(why.find("ulimit -n"), std::string::npos) << why;
    rlimit all{};
    ::getrlimit(RLIMIT_NOFILE, &all);
    const rlimit few{static_cast<rlim_t>(Descriptor(::dup(listener.get())).get() + 4), all.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    accept_waiting(listener, early);
    ::setrlimit(RLIMIT_NOFILE, &all);
    EXPECT_TRUE(early.empty()) << "four descriptors are left";
    accept_waiting(listener, early);
    EXPECT_EQ(early.size(), 1u);
}

TEST(MeetingPlaces, LetInWhoWasAcceptedEarly) {
    const std::string name = fmt::format("rollcall-test-{}-early", ::getpid());
    MeetingPlace place(name, {});
    Descriptor listener = place.listen();
    ASSERT_TRUE(listener);
    std::deque<Descriptor> early;
    accept_waiting(listener, early);
    EXPECT_TRUE(early.empty());
    const Key key = Key::random();
    std::vector<std::future<void>> ranks;
    const auto come = [&](int rank) {
        ranks.push_back(std::async(std::launch::async, [&key, rank, socket = place.connect()] {
            EXPECT_EQ(initiate(socket.get(), key, {Identity::Kind::rank, rank, 9}, deadline_after(kLimit)).peer.rank, 1);
        }));
    };
    for (int rank = 0; rank < 8; ++rank) come(rank);
    accept_waiting(listener, early);
    EXPECT_EQ(early.size(), 8u);
    come(8);
    std::set<int> admitted;
    Poller poller;
    AuthenticatingAcceptor::Limits limits;
    limits.half_open = 2;  // so some of the early ones wait, too
    limits.young = deadline_after(kLimit);
    AuthenticatingAcceptor acceptor(
        poller, key, {Identity::Kind::leader, 1, 9},
        [&](Descriptor, const Session& session, AuthenticatingAcceptor::From, pid_t process) {
            EXPECT_EQ(process, ::getpid());
            admitted.insert(session.peer.rank);
        },
        limits);
    acceptor.open(std::move(listener), AuthenticatingAcceptor::From::host, std::move(early));
    for (const Nanoseconds until = deadline_after(kLimit); admitted.size() < 9 && monotonic_now() < until;) {
        poller.wait(std::min(until, acceptor.tick_at()));
        if (acceptor.tick_at() <= monotonic_now()) acceptor.tick();
    }
    EXPECT_EQ(admitted.size(), 9u);
    EXPECT_EQ(acceptor.dropped(), 0u);
    for (auto& rank : ranks) rank.get();
}

TEST(AuthenticatingAcceptors, GiveUpNoHandshakeForAConnectionOfAnotherUser) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    const std::string name = fmt::format("rollcall-test-{}-handshakes", ::getpid());
    MeetingPlace place(name, {});
    Descriptor listener = place.listen();
    ASSERT_TRUE(listener);
    Poller poller;
    AuthenticatingAcceptor::Limits limits;
    limits.half_open = 1;
    limits.young = 0;
    AuthenticatingAcceptor acceptor(
        poller, Key::random(), {Identity::Kind::leader, 0, 2}, [](Descriptor, const Session&, AuthenticatingAcceptor::From, pid_t) {},
        limits);
    const Descriptor first = place.connect();
    {
        const OtherUser other;
        const Descriptor stranger(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        socklen_t length = sizeof address;
        ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
        ASSERT_EQ(::connect(stranger.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    }
    acceptor.open(std::move(listener), AuthenticatingAcceptor::From::host);
    for (const Nanoseconds until = deadline_after(kLimit); acceptor.dropped() == 0 && monotonic_now() < until;) poller.wait(until);
    EXPECT_EQ(acceptor.dropped(), 1u);
    EXPECT_EQ(acceptor.half_open(), 1u) << "the one that came first is still there";
}

/// While a leader or a root does not answer, the caller's other work goes on, and what that throws is the error.
TEST(Rendezvous, DoesTheCallersOtherWorkWhileNobodyAnswers) {
    for (const bool is_leader_silent : {true, false}) {
        Crew crew(2);
        const Key key = Key::random();
        const Descriptor root = listen_at(*SocketAddress::parse("127.0.0.1", 0), "");
        const Descriptor leader = is_leader_silent ? MeetingPlace(key, "host0", {}).listen() : Descriptor();
        crew.options.invitation = Invitation{"127.0.0.1", SocketAddress::of(root.get()).port(), key}.text();
        crew.options.join_timeout = 3s;
        int calls = 0;
        crew.options.meanwhile = [&] {
            if (++calls == 10) throw Error(ErrorCode::peer_failed, "rank 0 has given up", 0);
        };
        crew.one(1, [](int, Rendezvous&) {});
        ASSERT_TRUE(crew.errors[1]);
        EXPECT_STREQ(crew.errors[1]->what(), "rank 0 has given up");
        EXPECT_EQ(crew.errors[1]->failed_rank(), 0);
    }
}

TEST(MeetingPlaces, AllHeldByAnotherUserAreAnErrorThatNamesHim) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    const std::string name = fmt::format("rollcall-test-{}-taken", ::getpid());
    std::vector<Descriptor> held;
    MeetingPlace place(name, {});
    for (std::size_t number = 0; number < MeetingPlace::kNames; ++number) {
        EXPECT_FALSE(place.connect());
        EXPECT_TRUE(place.listen()) << number;
        const OtherUser other;
        held.push_back(hold_name(fmt::format("{}-{}", name, number), true));
    }
    try {
        place.connect();
        ADD_FAILURE() << "no Error was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bootstrap);
        EXPECT_TRUE(contains(error.what(), fmt::format("process {} of user {}", ::getpid(), OtherUser::kUser)));
    }
    held.erase(held.begin() + 3);
    EXPECT_FALSE(place.connect());
    EXPECT_TRUE(place.listen());
}

}  // namespace
}  // namespace rollcall::bootstrap::rendezvous_test
