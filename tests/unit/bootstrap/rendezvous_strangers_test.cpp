/// \file
/// Strangers at the rendezvous, and leaders of hosts that do not behave.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/connection.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"
#include "bootstrap/rendezvous/service.hpp"
#include "foundation/clock.hpp"
#include "foundation/ends.hpp"
#include "tests/unit/bootstrap/rendezvous.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap::rendezvous_test {
namespace {

using namespace std::chrono_literals;

/// Connections that never introduce themselves.
std::vector<Descriptor> knock(const Invitation& invitation, int count) {
    std::vector<Descriptor> connections;
    for (int i = 0; i < count; ++i) {
        std::string why;
        connections.push_back(connect_to(*SocketAddress::parse(invitation.address, invitation.port), deadline_after(5s), why));
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
        Descriptor socket = connect_to(*SocketAddress::parse(invitation_.address, invitation_.port), deadline_after(5s), why);
        Session session = initiate(socket.get(), invitation_.key, {Identity::Kind::leader, 1, 2}, deadline_after(5s));
        connection_.emplace(std::move(socket), std::move(session), true);
        say(FrameWriter(FrameType::arrived).i32(1).i32(2).text("elsewhere").finish());
    }
    void say(Blob frame) { connection_->post(std::make_shared<const Blob>(std::move(frame))); }
    int socket() const { return connection_->socket(); }
    /// Returns the next frame that is no heartbeat.
    std::optional<Frame> hear() {
        for (const Nanoseconds until = deadline_after(kLimit); monotonic_now() < until;) {
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

TEST(Rendezvous, AHostThatIsSilentIsLostAlsoIfThisOneIsHeldUpAgainAndAgain) {
    const pid_t child = ::fork();
    if (child == 0) {
        RendezvousOptions options;
        options.heartbeat = 50ms;
        options.silence = 800ms;
        Encounter encounter(options, [](FalseLeader&) {});
        ::_exit(notice_of(*encounter.rendezvous) ? 0 : 1);
    }
    int status = -1;
    const auto has_ended = [&] { return ::waitpid(child, &status, WNOHANG) == child; };
    while (!has_ended()) {
        ::kill(child, SIGSTOP);
        std::this_thread::sleep_for(700ms);
        ::kill(child, SIGCONT);
        std::this_thread::sleep_for(300ms);
    }
    EXPECT_EQ(status, 0);
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
        // As if by an attacker on the network without the key: a whole frame, and the seal of another connection.
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

TEST(Rendezvous, ARootThatRefusesTheJobAndGoesAtOnceLeavesItsLeadersInOrder) {
    for (const int rank : {0, -1}) {
        const Key up = Key::random(), down = Key::random();
        Ends ends = make_sockets(SOCK_STREAM);
        {
            Connection root(std::move(ends.first), {{Identity::Kind::leader, 1, 2}, down, up}, true);
            const auto code = static_cast<std::uint32_t>(ErrorCode::timeout);
            root.post(std::make_shared<const Blob>(FrameWriter(FrameType::failed).u64(0).u32(code).i32(-1).text("too late").finish()));
        }
        // The leader finds the refusal and the end of the connection together.
        Service leader({Key::random(), {Identity::Kind::leader, 1, 2}, "here"}, Descriptor(),
                       Service::Leader{std::move(ends.second), {{Identity::Kind::root, rank, 2}, up, down}});
        leader.finish(kLimit);
        EXPECT_TRUE(leader.finished());
    }
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

}  // namespace
}  // namespace rollcall::bootstrap::rendezvous_test
