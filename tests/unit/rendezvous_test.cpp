/// \file
/// The rendezvous, with a thread for each rank: hosts are emulated by their names. Everything is on loopback.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "runtime/bootstrap/rendezvous/assembly.hpp"
#include "runtime/bootstrap/rendezvous/connection.hpp"
#include "runtime/bootstrap/rendezvous/meeting_place.hpp"
#include "runtime/bootstrap/rendezvous/network.hpp"
#include "runtime/bootstrap/rendezvous/rendezvous.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap {
namespace {

using namespace std::chrono_literals;

constexpr auto kLimit = 20s;  // no test comes near it

/// Hands texts from one thread to others.
class Board {
  public:
    void put(std::string text) {
        const std::lock_guard lock(mutex_);
        text_ = std::move(text);
        changed_.notify_all();
    }
    std::string get() {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, kLimit, [this] { return !text_.empty(); })) throw std::runtime_error("no invitation came");
        return text_;
    }
    Share share() {
        return [this](std::string mine) {
            if (!mine.empty()) put(std::move(mine));
            return get();
        };
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string text_;
};

Blob blob_of(int rank, std::size_t round) {
    std::mt19937 random(static_cast<unsigned>(rank) * 1000u + static_cast<unsigned>(round));
    Blob blob(random() % 5000);
    for (std::byte& byte : blob) byte = static_cast<std::byte>(random());
    return blob;
}

/// A job whose ranks are threads.
struct Crew {
    explicit Crew(int ranks) : size(ranks), errors(static_cast<std::size_t>(ranks)) {
        options.net = "lo";
        options.join_timeout = kLimit;
    }
    using Part = std::function<void(int rank, Rendezvous& rendezvous)>;
    /// Runs `part` in each; what a rank throws is kept.
    void run(const Part& part) {
        std::vector<std::thread> threads;
        for (int rank = 0; rank < size; ++rank) threads.emplace_back([&, rank] { one(rank, part); });
        for (std::thread& thread : threads) thread.join();
    }
    void one(int rank, const Part& part) {
        try {
            RendezvousOptions own = options;
            own.host = fmt::format("host{}", host_of(rank));
            Rendezvous rendezvous("a test", told_rank(rank), told_size(rank), share_of(rank), own);
            part(rank, rendezvous);
        } catch (const Error& error) {
            errors[static_cast<std::size_t>(rank)] = error;
        }
    }
    void expect_no_errors() const {
        for (int rank = 0; rank < size; ++rank) {
            const auto& error = errors[static_cast<std::size_t>(rank)];
            EXPECT_FALSE(error) << "rank " << rank << ": " << error->what();
        }
    }
    int size;
    RendezvousOptions options;
    Board board;
    std::vector<std::optional<Error>> errors;
    std::function<int(int)> host_of = [](int) { return 0; };
    std::function<int(int)> told_rank = [](int rank) { return rank; };
    std::function<int(int)> told_size = [this](int) { return size; };
    std::function<Share(int)> share_of = [this](int) { return board.share(); };
};

/// This process is another user's as long as that lives.
struct OtherUser {
    static constexpr uid_t kUser = 65534;
    OtherUser() { EXPECT_EQ(::seteuid(kUser), 0); }
    ~OtherUser() { EXPECT_EQ(::seteuid(0), 0); }
    OtherUser(const OtherUser&) = delete;
    OtherUser& operator=(const OtherUser&) = delete;
};

/// Waits for a notice.
std::optional<Notice> notice_of(Rendezvous& rendezvous) {
    const auto until = std::chrono::steady_clock::now() + kLimit;
    while (std::chrono::steady_clock::now() < until) {
        if (auto notice = rendezvous.take_notice()) return notice;
        pollfd entry{rendezvous.notice_descriptor(), POLLIN, 0};
        ::poll(&entry, 1, 100);
    }
    return std::nullopt;
}

/// Ranks wait for each other outside of what is tested.
class Gate {
  public:
    explicit Gate(int ranks) : missing_(ranks) {}
    void pass() {
        std::unique_lock lock(mutex_);
        --missing_;
        changed_.notify_all();
        if (!changed_.wait_for(lock, kLimit, [this] { return missing_ <= 0; }))
            throw Error(ErrorCode::timeout, "a rank did not come to the gate");
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int missing_;
};

void expect_peer_failed(Rendezvous& rendezvous, int rank) {
    try {
        rendezvous.barrier({}, kLimit);
        ADD_FAILURE() << "the barrier was passed without rank " << rank;
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::peer_failed) << error.what();
        EXPECT_EQ(error.failed_rank(), rank) << error.what();
        EXPECT_TRUE(contains(error.what(), fmt::format("rank {}", rank)));
    }
}

class Meetings : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Meetings, ExchangeAndLeave) {
    const auto [size, hosts] = GetParam();
    Crew crew(size);
    const int per_host = (size + hosts - 1) / hosts;
    crew.host_of = [&](int rank) { return rank / per_host; };
    crew.run([&](int rank, Rendezvous& rendezvous) {
        const Place& place = rendezvous.place();
        EXPECT_EQ(place.rank, rank);
        EXPECT_EQ(place.size, size);
        EXPECT_EQ(place.local_rank, rank % per_host);
        EXPECT_EQ(place.local_size, std::min(per_host, size - rank / per_host * per_host));
        EXPECT_EQ(place.hosts, (size + per_host - 1) / per_host);
        EXPECT_EQ(place.host, fmt::format("host{}", rank / per_host));
        EXPECT_EQ(rendezvous.name(), "a test");
        for (std::size_t round = 0; round < 20; ++round) {
            const auto all = rendezvous.exchange(blob_of(rank, round), {}, kLimit);
            ASSERT_EQ(all.size(), static_cast<std::size_t>(size));
            for (int other = 0; other < size; ++other)
                EXPECT_TRUE(std::ranges::equal(all[static_cast<std::size_t>(other)], blob_of(other, round)));
            rendezvous.barrier({}, kLimit);
        }
        EXPECT_FALSE(rendezvous.take_notice());
        rendezvous.leave();
    });
    crew.expect_no_errors();
}

INSTANTIATE_TEST_SUITE_P(OfSizesAndHosts, Meetings,
                         testing::Values(std::tuple(1, 1), std::tuple(2, 1), std::tuple(2, 2), std::tuple(5, 1), std::tuple(5, 2),
                                         std::tuple(6, 3), std::tuple(8, 8), std::tuple(16, 4), std::tuple(32, 32)));

TEST(Rendezvous, ARankThatLeavesInGoodOrderIsNoNews) {
    Crew crew(4);
    crew.host_of = [](int rank) { return rank / 2; };
    crew.run([&](int rank, Rendezvous& rendezvous) {
        rendezvous.barrier({}, kLimit);
        if (rank == 3) return rendezvous.leave();
        try {
            rendezvous.barrier({}, kLimit);
            ADD_FAILURE() << "the barrier was passed without rank 3";
        } catch (const Error& error) {
            EXPECT_EQ(error.failed_rank(), 3) << error.what();
            EXPECT_TRUE(contains(error.what(), "has left the job"));
        }
        EXPECT_FALSE(rendezvous.take_notice());
        rendezvous.leave();
    });
    crew.expect_no_errors();
}

/// Rank `who` goes without a word; `expected` are the ranks that all others on other hosts hear of, in any order.
void lose(Crew& crew, int who, const std::vector<int>& expected) {
    Gate start(crew.size);
    Gate end(crew.size - 1);
    std::vector<int> order(expected);
    crew.run([&](int rank, Rendezvous& rendezvous) {
        rendezvous.barrier({}, kLimit);
        start.pass();
        if (rank == who) return;
        if (crew.host_of(rank) == crew.host_of(who) || who == 0) {
            const auto notice = notice_of(rendezvous);
            ASSERT_TRUE(notice);
            EXPECT_EQ(notice->rank, who) << notice->how;
        } else {
            std::set<int> heard;
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const auto notice = notice_of(rendezvous);
                ASSERT_TRUE(notice);
                EXPECT_FALSE(notice->how.empty());
                heard.insert(notice->rank);
            }
            EXPECT_EQ(heard, std::set<int>(expected.begin(), expected.end()));
        }
        expect_peer_failed(rendezvous, who);
        end.pass();
    });
    crew.expect_no_errors();
}

TEST(Rendezvous, TheLossOfARankIsToldToAll) {
    // Rank 0 comes first and leads its host; on the other, whoever is first. Alone on its host, rank 4 leads.
    Crew crew(5);
    crew.host_of = [](int rank) { return rank == 4 ? 1 : 0; };
    lose(crew, 2, {2});
    Crew again(5);
    again.host_of = crew.host_of;
    lose(again, 4, {4});
}

TEST(Rendezvous, TheLossOfALeaderIsThatOfItsHost) {
    Crew crew(6);
    crew.host_of = [](int rank) { return rank / 3; };
    // Rank 4 comes to its host before 3 and 5.
    crew.share_of = [&](int rank) -> Share {
        if (rank != 3 && rank != 5) return crew.board.share();
        return [&](std::string) {
            const std::string text = crew.board.get();
            MeetingPlace place(Invitation::parse(text).key, "host1");
            for (const Nanoseconds until = after(kLimit); now() < until && !place.connect();) std::this_thread::sleep_for(1ms);
            return text;
        };
    };
    Gate start(6);
    Gate end(5);
    crew.run([&](int rank, Rendezvous& rendezvous) {
        rendezvous.barrier({}, kLimit);
        start.pass();
        if (rank == 4) return;
        std::set<int> heard;
        const std::set<int> expected = rank / 3 == 1 ? std::set<int>{4, -1} : std::set<int>{3, 4, 5};
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const auto notice = notice_of(rendezvous);
            ASSERT_TRUE(notice);
            heard.insert(notice->rank);
            if (notice->rank == 3) {
                EXPECT_TRUE(contains(notice->how, "the leader of its host, rank 4"));
            }
        }
        EXPECT_EQ(heard, expected);
        try {
            rendezvous.barrier({}, kLimit);
            ADD_FAILURE() << "the barrier was passed without the host";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::peer_failed) << error.what();
            EXPECT_EQ(error.failed_rank() / 3, 1) << error.what();
        }
        end.pass();
    });
    crew.expect_no_errors();
}

TEST(Rendezvous, TheLossOfRank0EndsTheJobForAll) {
    Crew crew(5);
    crew.host_of = [](int rank) { return rank / 2; };
    Gate start(5);
    Gate end(4);
    crew.run([&](int rank, Rendezvous& rendezvous) {
        rendezvous.barrier({}, kLimit);
        start.pass();
        if (rank == 0) return;
        const auto first = notice_of(rendezvous);
        ASSERT_TRUE(first);
        EXPECT_EQ(first->rank, 0) << first->how;
        const auto second = notice_of(rendezvous);
        ASSERT_TRUE(second);
        EXPECT_EQ(second->rank, -1);
        EXPECT_TRUE(contains(second->how, "rank 0"));
        expect_peer_failed(rendezvous, 0);
        end.pass();
    });
    crew.expect_no_errors();
}

TEST(Rendezvous, WhoIsWaitingIsToldAsWell) {
    Crew crew(4);
    crew.host_of = [](int rank) { return rank; };
    crew.run([&](int rank, Rendezvous& rendezvous) {
        rendezvous.barrier({}, kLimit);
        if (rank != 3) expect_peer_failed(rendezvous, 3);  // it goes while the others are in there, or on their way
        if (rank != 3) rendezvous.leave();
    });
    crew.expect_no_errors();
}

TEST(Rendezvous, AnAbortIsToldToAllWithItsReason) {
    for (const int who : {0, 1, 3}) {
        Crew crew(4);
        crew.host_of = [](int rank) { return rank / 2; };
        Gate start(4);
        Gate end(4);
        crew.run([&](int rank, Rendezvous& rendezvous) {
            start.pass();
            if (rank == who) {
                rendezvous.abort(7, "a wheel fell off");
            } else {
                const auto notice = notice_of(rendezvous);
                ASSERT_TRUE(notice);
                EXPECT_EQ(notice->rank, -1);
                EXPECT_TRUE(
                    contains(notice->how, fmt::format("rank {} on host host{} aborted it with code 7: a wheel fell off", who, who / 2)));
            }
            end.pass();
        });
        crew.expect_no_errors();
    }
}

void expect_all(const Crew& crew, ErrorCode code, const std::string& part) {
    for (const auto& error : crew.errors) {
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code(), code) << error->what();
        EXPECT_TRUE(contains(error->what(), part));
    }
}

TEST(Rendezvous, TwoOfOneRankAreAnErrorForAll) {
    for (const int hosts : {1, 3}) {
        Crew crew(3);
        crew.host_of = [&](int rank) { return rank % hosts; };
        crew.told_rank = [](int rank) { return rank == 2 ? 1 : rank; };
        crew.run([](int, Rendezvous&) { ADD_FAILURE() << "the job started"; });
        expect_all(crew, ErrorCode::bootstrap, "two processes were told to be rank 1");
    }
}

TEST(Rendezvous, DifferentSizesAreAnErrorForAll) {
    for (const int hosts : {1, 2}) {
        Crew crew(2);
        crew.host_of = [&](int rank) { return rank % hosts; };
        crew.told_size = [](int rank) { return rank == 1 ? 5 : 2; };
        crew.run([](int, Rendezvous&) { ADD_FAILURE() << "the job started"; });
        expect_all(crew, ErrorCode::bootstrap, "rank 1 on host");
    }
}

TEST(Rendezvous, RanksThatCannotBeAreRefusedAtOnce) {
    for (const auto& [rank, size] : {std::pair(-1, 2), std::pair(2, 2), std::pair(0, 0)}) {
        EXPECT_THROW(bootstrap::Rendezvous("a test", rank, size, {}, {}), Error);
    }
}

TEST(Rendezvous, ThoseWhoDoNotComeAreNamed) {
    Crew crew(3);
    crew.options.join_timeout = 400ms;
    crew.host_of = [](int rank) { return rank % 2; };
    crew.told_size = [](int) { return 13; };
    crew.run([](int, Rendezvous&) { ADD_FAILURE() << "the job started"; });
    expect_all(crew, ErrorCode::timeout, "ranks 3, 4, 5, 6, 7, 8, 9, 10 and 2 others did not come");
}

TEST(Rendezvous, WithoutRank0TheOthersSayWhereItShouldBe) {
    for (const bool listens : {true, false}) {
        Crew crew(2);
        crew.options.join_timeout = 300ms;
        Descriptor taken = listen_at(*SocketAddress::parse("127.0.0.1", 0), "");
        const SocketAddress address = SocketAddress::of(taken.get());
        if (!listens) taken.reset();
        const std::string text = Invitation{"127.0.0.1", address.port(), Key::random()}.text();
        crew.told_rank = [](int rank) { return rank + 1; };
        crew.told_size = [](int) { return 3; };
        crew.share_of = [&](int) -> Share { return [&](std::string) { return text; }; };
        crew.run([](int, Rendezvous&) { ADD_FAILURE() << "the job started"; });
        int refused = 0;
        for (const auto& error : crew.errors) {
            ASSERT_TRUE(error);
            EXPECT_EQ(error->code(), ErrorCode::timeout) << error->what();
            EXPECT_TRUE(contains(error->what(), "rank 0"));
            EXPECT_TRUE(contains(error->what(), address.text()));
            if (contains(error->what(), "Connection refused")) ++refused;
        }
        if (!listens) {
            EXPECT_GT(refused, 0);
        }
    }
}

TEST(Rendezvous, WhyRank0CannotStartIsSaidToAllThatWaitForItsInvitation) {
    Crew crew(3);
    const Descriptor taken = listen_at(*SocketAddress::parse("127.0.0.1", 0), "");
    crew.options.port = SocketAddress::of(taken.get()).port();
    crew.options.port_advice = "set PORT=0 (any)";
    std::atomic<int> shared = 0;
    crew.share_of = [&](int rank) -> Share {
        return [&, rank](std::string mine) {
            if (rank == 0) ++shared;
            EXPECT_LE(mine.size(), kLongestInvitation);
            return crew.board.share()(std::move(mine));
        };
    };
    crew.run([](int, Rendezvous&) { ADD_FAILURE() << "the job started"; });
    EXPECT_EQ(shared, 1);
    for (const auto& error : crew.errors) {
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code(), ErrorCode::bootstrap);
        EXPECT_TRUE(contains(error->what(), fmt::format("at 127.0.0.1:{}: Address already in use; set PORT=0 (any)", crew.options.port)));
    }
}

TEST(Rendezvous, AnInvitationOfAnEarlierJobIsAskedForAgain) {
    Crew crew(4);
    crew.host_of = [](int rank) { return rank / 2; };
    crew.options.invitation_may_be_stale = true;
    std::uint16_t port = 0;
    {
        const Descriptor unused = listen_at(*SocketAddress::parse("127.0.0.1", 0), "");
        port = SocketAddress::of(unused.get()).port();
    }
    const std::string stale = Invitation{"127.0.0.1", port, Key::random()}.text();
    std::vector<int> asked(4);
    crew.share_of = [&](int rank) -> Share {
        if (rank == 0) return [&](std::string mine) { return crew.board.put(mine), mine; };
        return [&, rank](std::string) { return ++asked[static_cast<std::size_t>(rank)] < 3 ? stale : crew.board.get(); };
    };
    crew.run([&](int, Rendezvous& rendezvous) {
        rendezvous.barrier({}, kLimit);
        rendezvous.leave();
    });
    crew.expect_no_errors();
}

TEST(Rendezvous, WaitsUntilAnEarlierJobOfTheSameKeyHasLetGoOfTheHost) {
    // As after a restart by torchrun: rank 0 cannot lead its host at once, and another rank of it does later, or itself.
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

/// Holds this abstract name; lets others in, or not.
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

/// Goes on until there is a listening socket, as ranks do.
Descriptor listen_patiently(MeetingPlace& place) {
    for (const Nanoseconds until = after(kLimit); now() < until; std::this_thread::sleep_for(5ms)) {
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
    MeetingPlace hasty(name);  // did not look who is there: the first name's holder may be about to listen
    EXPECT_FALSE(hasty.listen());
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

/// Connections that never say who they are.
std::vector<Descriptor> knock(const Invitation& invitation, int count) {
    std::vector<Descriptor> connections;
    for (int i = 0; i < count; ++i) {
        std::string why;
        connections.push_back(connect_to(*SocketAddress::parse(invitation.address, invitation.port), after(5s), why));
        if (i % 3 == 0)
            ::send(connections.back().get(), "what is this, and for whom is it meant, and how long is it going to be?", 70, MSG_NOSIGNAL);
    }
    return connections;
}

TEST(Rendezvous, AFloodOfStrangersDoesNotKeepAJobFromStarting) {
    Crew crew(4);
    crew.host_of = [](int rank) { return rank; };
    std::vector<Descriptor> strangers;
    crew.share_of = [&](int rank) -> Share {
        if (rank != 0) return crew.board.share();
        return [&](std::string mine) {
            strangers = knock(Invitation::parse(mine), 200);
            crew.board.put(mine);
            return mine;
        };
    };
    crew.run([&](int rank, Rendezvous& rendezvous) {
        EXPECT_EQ(rendezvous.exchange(blob_of(rank, 0), {}, kLimit).size(), 4u);
        rendezvous.leave();
    });
    crew.expect_no_errors();
    EXPECT_EQ(strangers.size(), 200u);
}

/// A leader that is played by the test: rank 1 of 2, alone on its host.
class FalseLeader {
  public:
    explicit FalseLeader(const Invitation& invitation) : invitation_(invitation) {}
    void come() {
        std::string why;
        Descriptor socket = connect_to(*SocketAddress::parse(invitation_.address, invitation_.port), after(5s), why);
        Session session = initiate(socket.get(), invitation_.key, {Identity::Kind::leader, 1, 2}, after(5s));
        connection_.emplace(std::move(socket), std::move(session), true);
        say(FrameWriter(FrameType::arrived).i32(1).i32(2).text("elsewhere").finish());
    }
    void say(Blob frame) { connection_->post(std::make_shared<const Blob>(std::move(frame))); }
    int socket() const { return connection_->socket(); }
    /// The next frame that is no heartbeat.
    std::optional<Frame> hear() {
        for (const Nanoseconds until = after(kLimit); now() < until;) {
            const bool open = connection_->receive();
            while (auto frame = connection_->next()) {
                if (frame->type != FrameType::heartbeat) return frame;
            }
            if (!open) return std::nullopt;
            pollfd entry{connection_->socket(), POLLIN, 0};
            ::poll(&entry, 1, 100);
        }
        return std::nullopt;
    }

  private:
    Invitation invitation_;
    std::optional<Connection> connection_;
};

/// A job of rank 0 and a false leader.
struct Encounter {
    explicit Encounter(RendezvousOptions options, const std::function<void(FalseLeader&)>& play) {
        options.net = "lo";
        options.host = "here";
        rendezvous = std::make_unique<bootstrap::Rendezvous>(
            "a test", 0, 2,
            [&](std::string mine) {
                leader = std::make_unique<FalseLeader>(Invitation::parse(mine));
                leader->come();
                return mine;
            },
            options);
        const auto frame = leader->hear();
        EXPECT_TRUE(frame && frame->type == FrameType::assembled);
        play(*leader);
    }
    std::unique_ptr<FalseLeader> leader;
    std::unique_ptr<bootstrap::Rendezvous> rendezvous;
};

void expect_loss(bootstrap::Rendezvous& rendezvous, const std::string& why) {
    const auto notice = notice_of(rendezvous);
    ASSERT_TRUE(notice);
    EXPECT_EQ(notice->rank, 1);
    EXPECT_TRUE(contains(notice->how, why));
    expect_peer_failed(rendezvous, 1);
}

TEST(Rendezvous, AHostThatIsSilentIsLost) {
    RendezvousOptions options;
    options.heartbeat = 50ms;
    options.silence = 300ms;
    Encounter encounter(options, [](FalseLeader&) {});
    expect_loss(*encounter.rendezvous, "has not been heard of for 0.3 s");
}

TEST(Rendezvous, AHostThatOnlyGivesSignsOfLifeIsNot) {
    RendezvousOptions options;
    options.heartbeat = 50ms;
    options.silence = 1000ms;
    Encounter encounter(options, [](FalseLeader& leader) {
        for (int i = 0; i < 30; ++i) {
            leader.say(FrameWriter(FrameType::heartbeat).finish());
            std::this_thread::sleep_for(50ms);
        }
    });
    EXPECT_FALSE(encounter.rendezvous->take_notice());
}

TEST(Rendezvous, AFrameThatIsSlippedInBreaksItsConnectionOnly) {
    Encounter encounter({}, [](FalseLeader& leader) {
        // As if by somebody on the way, who has not the key: a whole frame, and a seal of another connection.
        const Blob barrier = FrameWriter(FrameType::contribution).u64(1).u32(1).u32(1).i32(1).blob({}).finish();
        Sealing other(Key::random());
        const Blob seal = other.seal(barrier);
        ::send(leader.socket(), barrier.data(), barrier.size(), MSG_NOSIGNAL);
        ::send(leader.socket(), seal.data(), seal.size(), MSG_NOSIGNAL);
    });
    expect_loss(*encounter.rendezvous, "wrong");
}

TEST(Rendezvous, ALeaderThatSpeaksForOthersIsLost) {
    Encounter encounter(
        {}, [](FalseLeader& leader) { leader.say(FrameWriter(FrameType::contribution).u64(1).u32(1).u32(1).i32(0).blob({}).finish()); });
    expect_loss(*encounter.rendezvous, "rank 0");
}

TEST(Rendezvous, WhoComesTooLateIsToldAndDoesNotDisturb) {
    RendezvousOptions options;
    std::string text;
    options.net = "lo";
    bootstrap::Rendezvous rendezvous(
        "a test", 0, 1, [&](std::string mine) { return text = mine; }, options);
    FalseLeader late(Invitation::parse(text));
    late.come();
    const auto frame = late.hear();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->type, FrameType::failed);
    EXPECT_EQ(rendezvous.exchange({}, {}, kLimit).size(), 1u);
    EXPECT_FALSE(rendezvous.take_notice());
    rendezvous.leave();
}

TEST(AssemblyOfAJob, NamesNodesAndWhoIsMissing) {
    Assembly assembly(0);
    EXPECT_FALSE(assembly.complete());
    EXPECT_FALSE(assembly.arrive(0, "a", 3, 4));
    EXPECT_EQ(assembly.size(), 4);
    EXPECT_EQ(assembly.missing(), "ranks 0, 1, 2");
    EXPECT_FALSE(assembly.arrive(2, "b", 0, 4));
    EXPECT_FALSE(assembly.arrive(2, "b", 2, 4));
    EXPECT_EQ(assembly.missing(), "rank 1");
    EXPECT_FALSE(assembly.complete());
    EXPECT_TRUE(contains(assembly.arrive(2, "b", 3, 4)->what(), "one on host a and one on host b"));
    EXPECT_TRUE(contains(assembly.arrive(2, "b", 1, 5)->what(), "rank 3 that there are 4"));
    EXPECT_TRUE(contains(assembly.arrive(2, "b", 4, 4)->what(), "rank 4 of 4"));
    EXPECT_FALSE(assembly.arrive(0, "a", 1, 4));
    EXPECT_TRUE(assembly.complete());
    EXPECT_EQ(assembly.nodes(), (std::map<int, std::vector<int>>{{0, {1, 3}}, {2, {0, 2}}}));
}

}  // namespace
}  // namespace rollcall::bootstrap
