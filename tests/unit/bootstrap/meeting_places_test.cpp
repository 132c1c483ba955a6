/// \file
/// Where the ranks of a host meet, and processes that hold such a place already.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/meeting_place.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"
#include "tests/unit/bootstrap/rendezvous.hpp"
#include "tests/unit/errors.hpp"

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
    Descriptor earlier = MeetingPlace(*crew.options.key, "host0").listen();
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
    if (::geteuid() != 0) GTEST_SKIP() << "being another user, too, needs root";
    Crew crew(4);
    crew.options.key = Key::random();
    crew.options.invitation_may_be_stale = true;  // as under torchrun, whose jobs have the same key again and again
    Descriptor others;
    {
        const OtherUser other;
        others = MeetingPlace(*crew.options.key, "host0").listen();
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
    MeetingPlace leader(name);
    const Descriptor listener = listen_patiently(leader);
    ASSERT_TRUE(listener);
    MeetingPlace late(name);
    EXPECT_TRUE(late.connect());
    // This one listens without connecting first. That is refused, because the process that holds the first name may be about to listen.
    MeetingPlace hasty(name);
    EXPECT_FALSE(hasty.listen());
}

/// The leader may be busy when many ranks come at once. But a process that takes nobody out of its queue is no leader.
TEST(MeetingPlaces, WhoseQueueIsFullArePassedOverOnlyAfterALongTime) {
    const std::string name = fmt::format("rollcall-test-{}-full", ::getpid());
    const Descriptor holder = hold_name(name + "-0", true);
    std::vector<Descriptor> queued;
    MeetingPlace others(name);
    while (Descriptor one = others.connect()) queued.push_back(std::move(one));
    EXPECT_GT(queued.size(), 0u);
    const Nanoseconds silence = 20 * kMillisecond;
    MeetingPlace place(name, silence);
    const Nanoseconds begin = monotonic_now();
    EXPECT_TRUE(listen_patiently(place));
    EXPECT_GE(monotonic_now() - begin, MeetingPlace::kFullFor * silence) << "a leader that is busy for a moment gets a second one";
}

TEST(MeetingPlaces, WhoseQueueWasFullAreNotPassedOverOnceTheyLetSomebodyIn) {
    const std::string name = fmt::format("rollcall-test-{}-busy", ::getpid());
    const Descriptor leader = hold_name(name + "-0", true);
    std::vector<Descriptor> queued;
    const Nanoseconds silence = 5 * kMillisecond;
    MeetingPlace place(name, silence);
    while (Descriptor one = place.connect()) queued.push_back(std::move(one));
    ASSERT_GT(queued.size(), 0u);
    std::this_thread::sleep_for(std::chrono::nanoseconds(2 * MeetingPlace::kFullFor * silence));
    ASSERT_TRUE(Descriptor(::accept(leader.get(), nullptr, nullptr)));
    EXPECT_TRUE(place.connect());
    EXPECT_FALSE(place.listen()) << "a second leader";
}

TEST(MeetingPlaces, AllHeldByAnotherUserAreAnErrorThatNamesHim) {
    if (::geteuid() != 0) GTEST_SKIP() << "being another user, too, needs root";
    const std::string name = fmt::format("rollcall-test-{}-taken", ::getpid());
    std::vector<Descriptor> held;
    MeetingPlace place(name);
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
