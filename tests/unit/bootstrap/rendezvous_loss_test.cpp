/// \file
/// Ranks that leave without notice, or abort the job: the other ranks are told.
#include <gtest/gtest.h>

#include <poll.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bootstrap/hub.hpp"
#include "bootstrap/rendezvous/connection.hpp"
#include "bootstrap/rendezvous/meeting_place.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"
#include "bootstrap/rendezvous/service.hpp"
#include "foundation/ends.hpp"
#include "tests/unit/bootstrap/rendezvous.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap::rendezvous_test {
namespace {

using namespace std::chrono_literals;

/// Rank `who` leaves without notice; `expected` are the ranks that all others on other hosts hear of, in any order.
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
    // Rank 0 comes first and leads its host. On the other host, the first rank leads. Rank 4 is alone on its host, and leads it.
    Crew crew(5);
    crew.host_of = [](int rank) { return rank == 4 ? 1 : 0; };
    lose(crew, 2, {2});
    Crew again(5);
    again.host_of = crew.host_of;
    lose(again, 4, {4});
}

Share share_when_host1_has_a_leader(Crew& crew) {
    return [&](std::string) {
        const std::string text = crew.board.get();
        MeetingPlace place(Invitation::parse(text).key, "host1", {});
        for (const Nanoseconds until = deadline_after(kLimit); monotonic_now() < until && !place.connect();)
            std::this_thread::sleep_for(1ms);
        return text;
    };
}

TEST(Rendezvous, TheLossOfALeaderIsThatOfItsHost) {
    Crew crew(6);
    crew.host_of = [](int rank) { return rank / 3; };
    // Rank 4 comes to its host before 3 and 5.
    crew.share_of = [&](int rank) -> Share { return rank == 3 || rank == 5 ? share_when_host1_has_a_leader(crew) : crew.board.share(); };
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

TEST(Rendezvous, WhyARankWentIsToldToAll) {
    // Rank 0 is where all hosts meet. On host 1, rank 2 or 3 leads. Rank 4 is alone on its host.
    for (int who = 0; who < 5; ++who) {
        Crew crew(5);
        crew.host_of = [](int rank) { return rank / 2; };
        Gate start(5);
        Gate end(4);
        crew.run([&](int rank, Rendezvous& rendezvous) {
            rendezvous.barrier({}, kLimit);
            start.pass();
            if (rank == who) return rendezvous.farewell("went for a test");
            auto notice = notice_of(rendezvous);
            ASSERT_TRUE(notice);
            EXPECT_EQ(notice->rank, who);
            EXPECT_EQ(notice->how, "went for a test");
            if (who == 0) {
                notice = notice_of(rendezvous);
                ASSERT_TRUE(notice);
                EXPECT_EQ(notice->rank, -1);
                EXPECT_TRUE(contains(
                    notice->how, rank == 1 ? "rank 0, where all hosts meet, is gone: it went for a test" : "hosts meet, went for a test"));
            }
            expect_peer_failed(rendezvous, who);
            end.pass();
        });
        crew.expect_no_errors();
    }
}

TEST(Rendezvous, WhatALeaderSaysOfItsEndIsToldOfItsHost) {
    // Rank 1 is alone at first on its host, and leads it. Rank 2 comes there when rank 1 is there.
    Crew crew(3);
    crew.host_of = [](int rank) { return rank == 0 ? 0 : 1; };
    crew.share_of = [&](int rank) -> Share { return rank == 2 ? share_when_host1_has_a_leader(crew) : crew.board.share(); };
    Gate start(3);
    Gate end(2);
    crew.run([&](int rank, Rendezvous& rendezvous) {
        rendezvous.barrier({}, kLimit);
        start.pass();
        if (rank == 1) return rendezvous.farewell("went for a test");
        for (const int expected : {1, rank == 0 ? 2 : -1}) {
            const auto notice = notice_of(rendezvous);
            ASSERT_TRUE(notice);
            EXPECT_EQ(notice->rank, expected);
            const char* const how = expected == 1   ? "went for a test"
                                    : expected == 2 ? "is lost: the leader of its host, rank 1, went for a test"
                                                    : "the job cannot go on: rank 1, the leader of this host, is gone";
            EXPECT_TRUE(contains(notice->how, how));
        }
        end.pass();
    });
    crew.expect_no_errors();
}

/// Returns the next frame of this type, or nothing if none comes.
std::optional<Frame> next_frame(Connection& connection, FrameType type) {
    for (const Nanoseconds until = deadline_after(kLimit); monotonic_now() < until;) {
        const bool open = connection.receive();
        while (auto frame = connection.next()) {
            if (frame->type == type) return frame;
        }
        if (!open) return std::nullopt;
        pollfd entry{connection.socket(), POLLIN, 0};
        ::poll(&entry, 1, 100);
    }
    return std::nullopt;
}

TEST(Rendezvous, ADeathThatTheRootHearsOfTooLateIsToldAll) {
    // The test plays the root, with rank 0, and the ranks 1 and 2, which are led by a real leader on another host.
    const Key up = Key::random(), down = Key::random(), key = Key::random();
    Ends ends = make_sockets(SOCK_STREAM);
    Connection root(std::move(ends.first), {{Identity::Kind::leader, 1, 3}, down, up}, true);
    const std::string name = fmt::format("rollcall-test-{}-late-death", ::getpid());
    MeetingPlace place(name, {});
    ASSERT_FALSE(place.connect());
    Service leader({key, {Identity::Kind::leader, 1, 3}, "there"}, place.listen(),
                   Service::Leader{std::move(ends.second), {{Identity::Kind::root, 0, 3}, up, down}});
    std::vector<Descriptor> ranks;
    for (const int rank : {1, 2}) {
        ranks.push_back(MeetingPlace(name, {}).connect());
        ASSERT_TRUE(ranks.back());
        initiate(ranks.back().get(), key, {Identity::Kind::rank, rank, 3}, deadline_after(kLimit));
        ASSERT_TRUE(next_frame(root, FrameType::arrived));
    }
    ranks.front().reset();
    ASSERT_TRUE(next_frame(root, FrameType::notice));
    // As far as the root knew when it wrote this, all had come.
    FrameWriter assembled(FrameType::assembled);
    assembled.text("a job").text("here").i32(3).i32(2).u32(2).i32(1).i32(2);
    root.post(std::make_shared<const Blob>(assembled.finish()));
    const auto frame = next_frame(root, FrameType::loss);
    ASSERT_TRUE(frame);
    Hub::Loss loss;
    EXPECT_EQ(Hub::decode_loss(frame->body, loss), 0u);
    EXPECT_EQ(loss.ranks, std::vector<int>{1});
    EXPECT_TRUE(loss.notice);
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
        if (rank != 3) expect_peer_failed(rendezvous, 3);  // rank 3 leaves while the others are in the barrier, or on their way to it
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

}  // namespace
}  // namespace rollcall::bootstrap::rendezvous_test
