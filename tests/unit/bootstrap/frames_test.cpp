/// \file
/// Frames, and what sends, receives and waits for them.
#include "bootstrap/frames.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <random>
#include <string>

#include <rollcall/error.hpp>

#include "bootstrap/passing.hpp"
#include "bootstrap/poller.hpp"
#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"
#include "tests/sanitizers.hpp"
#include "tests/unit/errors.hpp"
#include "tests/unit/no_more_files.hpp"

namespace rollcall::bootstrap {
namespace {

Blob blob(std::size_t bytes, int seed = 1) {
    Blob result(bytes);
    for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>(i * 13 + static_cast<std::size_t>(seed));
    return result;
}

TEST(Frames, CarryWhatWasWritten) {
    const Blob payload = blob(1000);
    Inbox inbox(kLongestRequest);
    inbox.append(FrameWriter(FrameType::exchange).u64(0x0123456789abcdefu).i32(-7).text("why").blob(payload).finish());
    const auto frame = inbox.next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->type, FrameType::exchange);
    FrameReader reader(frame->body);
    EXPECT_EQ(reader.u64(), 0x0123456789abcdefu);
    EXPECT_EQ(reader.i32(), -7);
    EXPECT_EQ(reader.text(), "why");
    const auto read = reader.blob();
    EXPECT_EQ(Blob(read.begin(), read.end()), payload);
    reader.end();
    EXPECT_FALSE(inbox.next());
}

TEST(Frames, AreLittleEndianOnTheWire) {
    const Blob frame = FrameWriter(FrameType::barrier).u32(0x01020304).finish();
    const unsigned char expected[] = {0x52, 0x43, 4, 0, 4, 0, 0, 0, 4, 3, 2, 1};
    ASSERT_EQ(frame.size(), sizeof expected);
    for (std::size_t i = 0; i < frame.size(); ++i) EXPECT_EQ(std::to_integer<int>(frame[i]), expected[i]) << i;
}

TEST(Frames, ComeOutWholeHoweverTheyAreCut) {
    const char* given = std::getenv("ROLLCALL_TEST_SEED");
    const unsigned seed = given != nullptr ? static_cast<unsigned>(std::stoul(given)) : std::random_device{}();
    SCOPED_TRACE("ROLLCALL_TEST_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    Blob stream;
    std::vector<Blob> bodies;
    for (int i = 0; i < 200; ++i) {
        bodies.push_back(blob(random() % 700, i));
        const Blob frame = FrameWriter(FrameType::exchange).blob(bodies.back()).finish();
        stream.insert(stream.end(), frame.begin(), frame.end());
    }
    Inbox inbox(1000);
    std::size_t seen = 0;
    for (std::size_t begin = 0; begin < stream.size();) {
        const std::size_t piece = std::min<std::size_t>(1 + random() % 900, stream.size() - begin);
        inbox.append(std::span(stream).subspan(begin, piece));
        begin += piece;
        while (const auto frame = inbox.next()) {
            FrameReader reader(frame->body);
            const auto read = reader.blob();
            ASSERT_LT(seen, bodies.size());
            EXPECT_EQ(Blob(read.begin(), read.end()), bodies[seen++]);
        }
    }
    EXPECT_EQ(seen, bodies.size());
}

TEST(Frames, RefuseWhatIsNotTheProtocol) {
    Inbox noise(1000);
    noise.append(std::as_bytes(std::span(std::string_view("GET / HTTP/1.1\r\n"))));
    EXPECT_EQ(error_of([&] { noise.next(); }).code(), ErrorCode::bootstrap);

    for (const int type : {0, 64, 255, 65535}) {
        Blob frame = FrameWriter(FrameType::join).finish();
        frame[2] = static_cast<std::byte>(type & 0xff);
        frame[3] = static_cast<std::byte>(type >> 8);
        Inbox inbox(1000);
        inbox.append(frame);
        EXPECT_TRUE(contains(error_of([&] { inbox.next(); }).what(), "no frame of type"));
    }
}

TEST(Frames, MayComeAfterSomethingElse) {
    const Blob frame = FrameWriter(FrameType::join).finish();
    // The text ends with bytes that look like the beginning of a frame: the first two bytes of one, and the first byte again.
    std::string text = "welcome\n";
    text += static_cast<char>(frame[0]);
    text += static_cast<char>(frame[1]);
    text += static_cast<char>(frame[0]);
    Blob stream;
    for (const char one : text) stream.push_back(static_cast<std::byte>(one));
    stream.insert(stream.end(), frame.begin(), frame.end());
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
        Inbox inbox(100);
        std::string dropped;
        bool begun = false;
        for (std::size_t begin = 0; begin < stream.size(); begin += piece) {
            EXPECT_FALSE(begun && inbox.next());
            inbox.append(std::span(stream).subspan(begin, std::min(piece, stream.size() - begin)));
            begun = begun || inbox.skip_to(FrameType::join, dropped);
        }
        EXPECT_EQ(dropped, text) << piece;
        ASSERT_TRUE(begun) << piece;
        EXPECT_EQ(inbox.next().value().type, FrameType::join);
    }
}

TEST(Frames, LongerThanTheLimitAreRefusedBeforeTheyCome) {
    Inbox inbox(100);
    inbox.append(FrameWriter(FrameType::exchange).blob(blob(96)).finish());
    EXPECT_TRUE(inbox.next());
    Blob header = FrameWriter(FrameType::exchange).blob(blob(97)).finish();
    header.resize(kHeaderBytes);
    inbox.append(header);
    EXPECT_TRUE(contains(error_of([&] { inbox.next(); }).what(), "the longest has 100"));
}

TEST(Frames, ThatEndTooEarlyOrTooLateAreRefused) {
    for (std::size_t bytes = 0; bytes < 4; ++bytes) {
        const Blob body = blob(bytes);
        EXPECT_EQ(error_of([&] { FrameReader(body).u32(); }).code(), ErrorCode::bootstrap);
    }
    // A length inside the body that reaches beyond it.
    const Blob frame = FrameWriter(FrameType::exchange).u32(0xffffffffu).finish();
    EXPECT_EQ(error_of([&] { FrameReader(std::span(frame).subspan(kHeaderBytes)).blob(); }).code(), ErrorCode::bootstrap);
    const Blob more = blob(5);
    FrameReader reader(more);
    reader.u32();
    EXPECT_EQ(error_of([&] { reader.end(); }).code(), ErrorCode::bootstrap);
}

TEST(Frames, LongTextsAreCut) {
    const Blob frame = encode_notice({3, std::string(100000, 'a')});
    EXPECT_LE(frame.size(), kLongestWelcome);
    EXPECT_EQ(decode_notice(std::span(frame).subspan(kHeaderBytes)).how, std::string(kLongestText, 'a'));
}

Place a_place() {
    Place place;
    place.rank = 3;
    place.size = 8;
    place.local_rank = 1;
    place.local_size = 4;
    place.hosts = 2;
    place.job = "job";
    place.host = "h";
    return place;
}

TEST(Frames, TheWelcomeSurvivesAndIsChecked) {
    Place place = a_place();
    const Blob good = encode_welcome(place);
    const Place read = decode_welcome(std::span(good).subspan(kHeaderBytes));
    EXPECT_EQ(read.rank, 3);
    EXPECT_EQ(read.size, 8);
    EXPECT_EQ(read.local_rank, 1);
    EXPECT_EQ(read.local_size, 4);
    EXPECT_EQ(read.hosts, 2);
    EXPECT_EQ(read.job, "job");
    EXPECT_EQ(read.host, "h");

    place.rank = 8;
    const Blob wrong = encode_welcome(place);
    EXPECT_TRUE(contains(error_of([&] { decode_welcome(std::span(wrong).subspan(kHeaderBytes)); }).what(), "rank 8 of 8"));
    Blob other = good;
    other[kHeaderBytes] = std::byte{99};
    EXPECT_TRUE(contains(error_of([&] { decode_welcome(std::span(other).subspan(kHeaderBytes)); }).what(), "version 99"));
}

/// The version of the welcome stands for all frames of the protocol. A change of one of them that a program of before would not understand
/// needs a new version: then change both here.
TEST(Frames, OfTheStarterHaveTheLayoutOfTheirVersion) {
    EXPECT_EQ(kProtocolVersion, 3u);
    Notice notice;
    notice.rank = 3;
    notice.ended_by = 5;
    notice.how = "why";
    EXPECT_EQ(encode_notice(notice), FrameWriter(FrameType::notice).i32(3).i32(5).text("why").finish());
    const Place place = a_place();
    EXPECT_EQ(encode_welcome(place),
              FrameWriter(FrameType::welcome).u32(kProtocolVersion).i32(3).i32(8).i32(1).i32(4).i32(2).text("job").text("h").finish());
}

TEST(Outbox, SendsWhatTheSocketTakesAndTheRestLater) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const Descriptor left(ends[0]);
    Descriptor right(ends[1]);
    const Blob payload = blob(kLongestBlob);
    Outbox outbox;
    for (int i = 0; i < 3; ++i) outbox.add(FrameWriter(FrameType::exchange).blob(payload).finish());
    Inbox inbox(kLongestRequest);
    int seen = 0;
    for (int turn = 0; turn < 100000 && seen < 3; ++turn) {
        ASSERT_TRUE(outbox.send(left.get()));
        EXPECT_EQ(inbox.receive(right.get()), Inbox::State::open);
        while (inbox.next()) ++seen;
    }
    EXPECT_EQ(seen, 3);
    EXPECT_TRUE(outbox.empty());
    right.reset();
    outbox.add(FrameWriter(FrameType::leave).finish());
    EXPECT_FALSE(outbox.send(left.get()));
    EXPECT_TRUE(outbox.empty());
}

TEST(Inboxes, KeepNoDescriptorForAFrameThatCameWithoutItsOwn) {
    if (test::kNeedsDescriptors) GTEST_SKIP() << test::kNeedsDescriptors;
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const Descriptor mine(ends[0]);
    const Descriptor other(ends[1]);
    Inbox inbox(kLongestRequest);
    inbox.keep_descriptors();
    const Blob frame = FrameWriter(FrameType::released).u64(1).finish();
    ASSERT_TRUE(send_with_descriptor(other.get(), frame, mine.get()));
    EXPECT_EQ(inbox.receive(mine.get()), Inbox::State::open);
    ASSERT_TRUE(send_with_descriptor(other.get(), frame, mine.get()));
    {
        const NoMoreFiles none;
        EXPECT_EQ(inbox.receive(mine.get()), Inbox::State::open);
    }
    EXPECT_TRUE(inbox.next());
    EXPECT_TRUE(inbox.next());
    EXPECT_FALSE(inbox.take_descriptor());
}

TEST(Pollers, GiveNobodyAnEventOfWhoHadHisNumberBefore) {
    Poller poller;
    std::array<Descriptor, 2> ready;
    for (Descriptor& descriptor : ready) descriptor.reset(::eventfd(1, EFD_CLOEXEC));
    int calls = 0;
    bool late = false;
    // Both descriptors are ready. The handler that is called first replaces the other descriptor by one that is not ready.
    for (std::size_t i = 0; i < ready.size(); ++i) {
        poller.add(ready[i].get(), EPOLLIN, [&, i](std::uint32_t) {
            ++calls;
            const int other = ready[1 - i].get();
            poller.remove(other);
            const Descriptor quiet(::eventfd(0, EFD_CLOEXEC));
            ASSERT_EQ(::dup3(quiet.get(), other, O_CLOEXEC), other);
            poller.add(other, EPOLLIN, [&](std::uint32_t) { late = true; });
        });
    }
    poller.wait(kNever);
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(late);
}

}  // namespace
}  // namespace rollcall::bootstrap
