/// \file
/// Tests the handshake of the rendezvous, the seals after it, and which connections the acceptor admits.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <set>
#include <vector>

#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/authenticating_acceptor.hpp"
#include "bootstrap/rendezvous/authentication.hpp"
#include "bootstrap/rendezvous/connection.hpp"
#include "bootstrap/rendezvous/invitation.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap {
namespace {

const Identity kLeader{Identity::Kind::leader, 3, 8};
const Identity kRoot{Identity::Kind::root, 0, 8};

bool equal(const Key& a, const Key& b) { return std::memcmp(a.bytes().data(), b.bytes().data(), kKeyBytes) == 0; }

Frame frame_of(const Blob& bytes) {
    Inbox inbox(kLongestRequest);
    inbox.append(bytes);
    return *inbox.next();
}

TEST(Handshake, OfTheSameKeyGivesBothTheSameSession) {
    const Key key = Key::random();
    Initiator initiator(key, kLeader);
    Responder responder(key, kRoot);
    const Proof proof = initiator.answer(responder.answer(initiator.hello()));
    const Session there = responder.session(proof);
    const Session here = initiator.session();
    EXPECT_EQ(here.peer, kRoot);
    EXPECT_EQ(there.peer, kLeader);
    EXPECT_TRUE(equal(here.send, there.receive));
    EXPECT_TRUE(equal(here.receive, there.send));
    EXPECT_FALSE(equal(here.send, here.receive));
}

TEST(Handshake, OfAnotherKeyFailsOnBothSides) {
    Initiator initiator(Key::random(), kLeader);
    Responder responder(Key::random(), kRoot);
    const Challenge challenge = responder.answer(initiator.hello());
    EXPECT_TRUE(contains(error_of([&] { initiator.answer(challenge); }).what(), "does not know this job's key"));
    EXPECT_EQ(error_of([&] { initiator.session(); }).code(), ErrorCode::state);
    EXPECT_TRUE(contains(error_of([&] { responder.session(Proof{}); }).what(), "does not know this job's key"));
}

TEST(Handshake, OneThatIsReplayedFails) {
    const Key key = Key::random();
    Initiator initiator(key, kLeader);
    Responder first(key, kRoot);
    const Challenge challenge = first.answer(initiator.hello());
    const Proof proof = initiator.answer(challenge);
    first.session(proof);
    // Sends the same hello and proof to the next process, which has another nonce.
    Responder second(key, kRoot);
    second.answer(initiator.hello());
    EXPECT_EQ(error_of([&] { second.session(proof); }).code(), ErrorCode::bootstrap);
    // Sends the same challenge to another initiator.
    Initiator other(key, kLeader);
    EXPECT_EQ(error_of([&] { other.answer(challenge); }).code(), ErrorCode::bootstrap);
}

TEST(Handshake, ThatIsReflectedFails) {
    const Key key = Key::random();
    // An attacker without the key asks the process itself to answer its own challenge, and sends the answer back.
    Initiator initiator(key, kLeader);
    Responder itself(key, kLeader);
    const Challenge challenge = itself.answer(initiator.hello());
    Proof reflected;
    std::copy_n(challenge.begin() + kHelloBytes, kProofBytes, reflected.begin());
    EXPECT_EQ(error_of([&] { itself.session(reflected); }).code(), ErrorCode::bootstrap);
}

TEST(Handshake, EveryBitOfItMatters) {
    const Key key = Key::random();
    for (std::size_t at = 0; at < kHelloBytes; ++at) {
        Initiator initiator(key, kLeader);
        Responder responder(key, kRoot);
        Hello hello = initiator.hello();
        hello[at] ^= std::byte{1};
        EXPECT_THROW(initiator.answer(responder.answer(hello)), Error) << "byte " << at << " of the hello";
    }
    for (std::size_t at = 0; at < kChallengeBytes; ++at) {
        Initiator initiator(key, kLeader);
        Responder responder(key, kRoot);
        Challenge challenge = responder.answer(initiator.hello());
        challenge[at] ^= std::byte{1};
        EXPECT_THROW(initiator.answer(challenge), Error) << "byte " << at << " of the challenge";
    }
    for (std::size_t at = 0; at < kProofBytes; ++at) {
        Initiator initiator(key, kLeader);
        Responder responder(key, kRoot);
        Proof proof = initiator.answer(responder.answer(initiator.hello()));
        proof[at] ^= std::byte{128};
        EXPECT_THROW(responder.session(proof), Error) << "byte " << at << " of the proof";
    }
}

TEST(Handshake, AnotherVersionIsToldToBothSides) {
    const Key key = Key::random();
    Initiator initiator(key, kLeader);
    Responder responder(key, kRoot);
    Hello hello = initiator.hello();
    hello[4] = std::byte{99};
    Challenge challenge = responder.answer(hello);
    EXPECT_TRUE(contains(error_of([&] { responder.session(Proof{}); }).what(), "version 99"));
    challenge[4] = std::byte{98};
    EXPECT_TRUE(contains(error_of([&] { initiator.answer(challenge); }).what(), "version 98"));
}

TEST(Seals, FitTheFramesTheyWereMadeForInTheirOrder) {
    const Key key = Key::random();
    Sealing sender(key);
    Sealing receiver(key);
    for (int i = 0; i < 5; ++i) {
        const Blob frame = FrameWriter(FrameType::barrier).u64(7).finish();
        receiver.check(frame_of(frame), frame_of(sender.seal(frame)));
    }
}

TEST(Seals, DoNotFitWhatWasChangedRepeatedOrLeftOut) {
    const Key key = Key::random();
    const Blob frame = FrameWriter(FrameType::barrier).u64(7).finish();
    const Blob other = FrameWriter(FrameType::barrier).u64(8).finish();
    const Blob kind = FrameWriter(FrameType::exchange).u64(7).finish();
    for (const Blob& changed : {other, kind}) {
        Sealing sender(key);
        Sealing receiver(key);
        EXPECT_EQ(error_of([&] { receiver.check(frame_of(changed), frame_of(sender.seal(frame))); }).code(), ErrorCode::bootstrap);
    }
    Sealing sender(key);
    const Blob first = sender.seal(frame);
    const Blob second = sender.seal(frame);
    Sealing repeated(key);
    repeated.check(frame_of(frame), frame_of(first));
    EXPECT_THROW(repeated.check(frame_of(frame), frame_of(first)), Error);
    Sealing left_out(key);
    EXPECT_THROW(left_out.check(frame_of(frame), frame_of(second)), Error);
    Sealing no_seal(key);
    EXPECT_THROW(no_seal.check(frame_of(frame), frame_of(frame)), Error);
    Sealing stranger(Key::random());
    EXPECT_THROW(stranger.check(frame_of(frame), frame_of(first)), Error);
}

TEST(Seals, OfAFrameForManyAreMadeFromOneDigest) {
    LastDigest last;
    const auto barrier = std::make_shared<const Blob>(FrameWriter(FrameType::barrier).u64(7).finish());
    const auto again = std::make_shared<const Blob>(FrameWriter(FrameType::barrier).u64(8).finish());
    const Digest first = last.of(barrier);
    EXPECT_EQ(last.of(barrier), first);
    EXPECT_EQ(digest_of(std::span(*barrier).subspan(kHeaderBytes)), first);
    EXPECT_NE(last.of(again), first);
    for (const auto& frame : {barrier, again, barrier}) {
        const Key key = Key::random();
        Sealing receiver(key);
        receiver.check(frame_of(*frame), frame_of(Sealing(key).seal(*frame, last.of(frame))));
    }
    const Key key = Key::random();
    Sealing receiver(key);
    EXPECT_THROW(receiver.check(frame_of(*barrier), frame_of(Sealing(key).seal(*barrier, last.of(again)))), Error);
}

TEST(Keys, AreDerivedByEveryPartAndItsPlace) {
    const Key key = Key::random();
    EXPECT_TRUE(equal(key.derive({"a", "bc"}), key.derive({"a", "bc"})));
    EXPECT_FALSE(equal(key.derive({"a", "bc"}), key.derive({"ab", "c"})));
    EXPECT_FALSE(equal(key.derive({"a", "bc"}), key.derive({"a", "bc", ""})));
    EXPECT_FALSE(equal(key.derive({"a", "bc"}), Key::random().derive({"a", "bc"})));
}

TEST(Keys, AreWipedWhenTheyEnd) {
    alignas(Key) std::array<std::byte, sizeof(Key)> memory;
    Key* const key = new (memory.data()) Key(Key::random());
    EXPECT_TRUE(std::any_of(memory.begin(), memory.end(), [](std::byte byte) { return byte != std::byte{0}; }));
    key->~Key();
    EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(Invitations, SurviveTheirText) {
    for (const char* address : {"10.1.2.3", "fd00::1:2", "127.0.0.1"}) {
        const Invitation invitation{address, 4242, Key::random()};
        const std::string text = invitation.text();
        EXPECT_LE(text.size(), kLongestInvitation);
        EXPECT_EQ(text.find_first_of(" \t\n;=\"'"), std::string::npos) << text;
        const Invitation read = Invitation::parse(text);
        EXPECT_EQ(read.address, address);
        EXPECT_EQ(read.port, 4242);
        EXPECT_TRUE(equal(read.key, invitation.key));
    }
}

TEST(Invitations, ThatAreNoneAreRefusedWithoutShowingThem) {
    const std::string good = Invitation{"10.1.2.3", 4242, Key::random()}.text();
    const std::string digits = good.substr(good.rfind(',') + 1);
    std::vector<std::string> bad = {"",
                                    "x",
                                    ",,,",
                                    "rollcall-1,10.1.2.3,4242",
                                    "rollcall-2,10.1.2.3,4242," + digits,
                                    "rollcall-1,localhost,4242," + digits,
                                    "rollcall-1,10.1.2.3,0," + digits,
                                    "rollcall-1,10.1.2.3,65536," + digits,
                                    "rollcall-1,10.1.2.3,42x," + digits,
                                    good + "0",
                                    good.substr(0, good.size() - 1),
                                    good.substr(0, good.size() - 1) + "g",
                                    std::string(100000, 'a')};
    for (const std::string& text : bad) {
        const Error error = error_of([&] { Invitation::parse(text); });
        EXPECT_EQ(error.code(), ErrorCode::bootstrap) << text;
        EXPECT_EQ(std::string(error.what()).find(digits.substr(0, 16)), std::string::npos);
    }
}

/// An acceptor on loopback, driven by the test's own thread.
class DoorToAJob : public testing::Test {
  protected:
    DoorToAJob() : listener_(listen_at(*SocketAddress::parse("127.0.0.1", 0), "")), address_(SocketAddress::of(listener_.get())) {}

    void open(AuthenticatingAcceptor::Limits limits) {
        acceptor_.emplace(
            poller_, key_, kRoot,
            [this](Descriptor socket, Session session, AuthenticatingAcceptor::From from, pid_t) {
                EXPECT_EQ(from, AuthenticatingAcceptor::From::network);
                admitted_.insert(session.peer.rank);
                sockets_.push_back(std::move(socket));
            },
            limits);
        acceptor_->open(std::move(listener_), AuthenticatingAcceptor::From::network);
    }
    Descriptor knock() const {
        std::string why;
        Descriptor socket = connect_to(address_, deadline_after(std::chrono::seconds(5)), why);
        EXPECT_TRUE(socket) << why;
        return socket;
    }
    void turn(Nanoseconds time = 5 * kMillisecond) {
        for (const Nanoseconds until = monotonic_now() + time; monotonic_now() < until;) {
            poller_.wait(std::min(until, acceptor_->tick_at()));
            acceptor_->tick();
        }
    }
    template <typename Condition>
    bool turn_until(Condition condition) {
        for (const Nanoseconds until = monotonic_now() + 20'000 * kMillisecond; monotonic_now() < until && !condition();)
            turn(kMillisecond);
        return condition();
    }
    /// Connects as a process of the job does, without blocking the test's thread.
    struct Visitor {
        Visitor(Descriptor connection, const Key& key, int rank)
            : socket(std::move(connection)), initiator(key, {Identity::Kind::leader, rank, 8}) {
            EXPECT_EQ(::send(socket.get(), initiator.hello().data(), kHelloBytes, MSG_NOSIGNAL), static_cast<ssize_t>(kHelloBytes));
        }
        /// False until the challenge has come and is answered.
        bool go_on() {
            Challenge challenge;
            if (::recv(socket.get(), challenge.data(), challenge.size(), MSG_DONTWAIT | MSG_PEEK) != static_cast<ssize_t>(challenge.size()))
                return false;
            const Proof proof = initiator.answer(challenge);
            return ::send(socket.get(), proof.data(), proof.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(proof.size());
        }
        Descriptor socket;
        Initiator initiator;
    };

    Key key_ = Key::random();
    Poller poller_;
    Descriptor listener_;
    SocketAddress address_;
    std::optional<AuthenticatingAcceptor> acceptor_;
    std::set<int> admitted_;
    std::vector<Descriptor> sockets_;
};

bool closed(const Descriptor& socket) {
    char byte = 0;
    const ssize_t count = ::recv(socket.get(), &byte, 1, MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN);
}

TEST_F(DoorToAJob, LetsInWhoKnowsTheKey) {
    open({});
    Visitor visitor(knock(), key_, 5);
    EXPECT_TRUE(turn_until([&] { return visitor.go_on(); }));
    EXPECT_TRUE(turn_until([&] { return admitted_.contains(5); }));
    EXPECT_EQ(acceptor_->dropped(), 0u);
    EXPECT_EQ(acceptor_->half_open(), 0u);
}

TEST_F(DoorToAJob, DropsNoiseTruncationsAndOtherKeys) {
    open({});
    const Descriptor noise = knock();
    const std::string request = "GET / HTTP/1.1\r\nHost: somewhere\r\nUser-Agent: something that is long enough\r\n\r\n";
    ASSERT_EQ(::send(noise.get(), request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    EXPECT_TRUE(turn_until([&] { return acceptor_->dropped() == 1; }));
    EXPECT_TRUE(closed(noise));

    Descriptor truncated = knock();
    ASSERT_EQ(::send(truncated.get(), request.data(), 10, MSG_NOSIGNAL), 10);
    turn();
    truncated.reset();
    EXPECT_TRUE(turn_until([&] { return acceptor_->dropped() == 2; }));

    // An attacker without the key, which ignores the challenge and sends more than a rank ever does.
    Visitor stranger(knock(), Key::random(), 1);
    const std::vector<std::byte> flood(1 << 20);
    turn();
    EXPECT_GT(::send(stranger.socket.get(), flood.data(), flood.size(), MSG_NOSIGNAL | MSG_DONTWAIT), 0);
    EXPECT_TRUE(turn_until([&] { return acceptor_->dropped() == 3; }));
    EXPECT_TRUE(admitted_.empty());
    EXPECT_EQ(acceptor_->half_open(), 0u);
}

TEST_F(DoorToAJob, DropsWhoTakesTooLong) {
    open({.half_open = 64, .patience = 50 * kMillisecond, .young = 0});
    const Descriptor silent = knock();
    Visitor stops_there(knock(), key_, 1);  // It says hello, and nothing more.
    EXPECT_TRUE(turn_until([&] { return acceptor_->dropped() == 2; }));
    EXPECT_TRUE(closed(silent));
    EXPECT_TRUE(admitted_.empty());
}

// A listener for jobs may leave them alone for long before it looks, and the answer to its challenge cannot be there yet.
TEST_F(DoorToAJob, GivesTimeForTheAnswerToAChallengeFromThen) {
    open({});
    const Descriptor guest = knock();
    EXPECT_TRUE(turn_until([&] { return acceptor_->half_open() == 1; }));
    const Nanoseconds for_hello = acceptor_->tick_at();
    const Hello hello = Initiator(key_, {Identity::Kind::rank, 1, 200}).hello();
    ASSERT_EQ(::send(guest.get(), hello.data(), hello.size(), MSG_NOSIGNAL), static_cast<ssize_t>(hello.size()));
    EXPECT_TRUE(turn_until([&] { return acceptor_->tick_at() > for_hello; }));
    EXPECT_EQ(acceptor_->half_open(), 1u);
}

TEST_F(DoorToAJob, DropsNobodyForNobody) {
    open({.half_open = 2, .patience = 5'000 * kMillisecond, .young = 0});
    const std::vector<Descriptor> guests = [&] {
        std::vector<Descriptor> both;
        both.push_back(knock());
        both.push_back(knock());
        return both;
    }();
    EXPECT_TRUE(turn_until([&] { return acceptor_->half_open() == 2; }));
    EXPECT_EQ(acceptor_->dropped(), 0u);
    const Descriptor third = knock();
    EXPECT_TRUE(turn_until([&] { return acceptor_->dropped() == 1; }));
    EXPECT_EQ(acceptor_->half_open(), 2u);
}

TEST_F(DoorToAJob, UnderAFloodStaysOpenForTheJob) {
    open({.half_open = 64, .patience = 5'000 * kMillisecond, .young = 10 * kMillisecond});
    std::vector<Descriptor> flood;
    for (int i = 0; i < 200; ++i) {
        flood.push_back(knock());
        turn(kMillisecond / 10);
        EXPECT_LE(acceptor_->half_open(), 64u);
    }
    Visitor visitor(knock(), key_, 7);
    EXPECT_TRUE(turn_until([&] { return visitor.go_on(); }));
    EXPECT_TRUE(turn_until([&] { return admitted_.contains(7); }));
    EXPECT_LE(acceptor_->half_open(), 64u);
    EXPECT_GE(acceptor_->dropped(), 200u - 64u);
}

TEST_F(DoorToAJob, TakesManyOfTheJobThatComeAtOnce) {
    open({});
    std::vector<std::unique_ptr<Visitor>> visitors;
    for (int rank = 0; rank < 200; ++rank) visitors.push_back(std::make_unique<Visitor>(knock(), key_, rank));
    std::set<int> answered;
    EXPECT_TRUE(turn_until([&] {
        for (int rank = 0; rank < 200; ++rank) {
            if (!answered.contains(rank) && visitors[static_cast<std::size_t>(rank)]->go_on()) answered.insert(rank);
        }
        return admitted_.size() == 200;
    }));
    EXPECT_EQ(acceptor_->dropped(), 0u);
}

}  // namespace
}  // namespace rollcall::bootstrap
