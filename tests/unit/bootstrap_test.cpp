/// \file
/// The pure parts of the bootstrap: frames, rounds, being alone, and how a process finds out who started it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include <rollcall/error.hpp>

#include "runtime/bootstrap/alone.hpp"
#include "runtime/bootstrap/clock.hpp"
#include "runtime/bootstrap/descriptor.hpp"
#include "runtime/bootstrap/frames.hpp"
#include "runtime/bootstrap/launched.hpp"
#include "runtime/bootstrap/passing.hpp"
#include "runtime/bootstrap/poller.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap {
namespace {

Blob blob(std::size_t bytes, int seed = 1) {
    Blob result(bytes);
    for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>(i * 13 + static_cast<std::size_t>(seed));
    return result;
}

std::vector<Blob> blobs(const Gathered& gathered) {
    std::vector<Blob> all;
    for (std::size_t rank = 0; rank < gathered.size(); ++rank) all.emplace_back(gathered[rank].begin(), gathered[rank].end());
    return all;
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
    // It ends as the frame begins, whose first byte comes twice more.
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

TEST(Frames, TheWelcomeSurvivesAndIsChecked) {
    Place place;
    place.rank = 3;
    place.size = 8;
    place.local_rank = 1;
    place.local_size = 4;
    place.hosts = 2;
    place.job = "job";
    place.host = "h";
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

TEST(AloneInItsJob, AnswersItself) {
    Alone alone;
    EXPECT_EQ(alone.name(), "alone");
    EXPECT_EQ(alone.place().rank, 0);
    EXPECT_EQ(alone.place().size, 1);
    EXPECT_EQ(alone.place().local_size, 1);
    EXPECT_EQ(alone.place().hosts, 1);
    EXPECT_FALSE(alone.place().host.empty());
    const Blob mine = blob(10);
    EXPECT_EQ(blobs(alone.exchange(mine, {}, kForever)), std::vector<Blob>{mine});
    EXPECT_EQ(blobs(alone.exchange({}, {}, kForever)), std::vector<Blob>{Blob{}});
    alone.barrier({}, kForever);
    EXPECT_EQ(alone.notice_descriptor(), -1);
    EXPECT_FALSE(alone.take_notice());
    alone.leave();
}

/// A clean environment for each test: nothing of a launcher that happens to run the tests.
class FindBootstrap : public testing::Test {
  protected:
    void SetUp() override {
        for (const char* variable : kVariables) {
            if (const char* value = std::getenv(variable)) saved_[variable] = value;
            ::unsetenv(variable);
        }
    }
    void TearDown() override {
        for (const char* variable : kVariables) ::unsetenv(variable);
        for (const auto& [variable, value] : saved_) ::setenv(variable.c_str(), value.c_str(), 1);
    }
    static Error failure() {
        return error_of([] { find_bootstrap(); });
    }
    static void expect_unusable(const std::string& number, const std::string& why) {
        ::setenv(kDescriptorVariable, number.c_str(), 1);
        const Error error = failure();
        EXPECT_EQ(error.code(), ErrorCode::bootstrap);
        EXPECT_TRUE(contains(error.what(), why));
        EXPECT_TRUE(contains(error.what(), "ROLLCALL_BOOTSTRAP_FD=" + number));
    }

  private:
    static constexpr const char* kVariables[] = {kDescriptorVariable,    "SLURM_PROCID", "SLURM_STEP_ID", "SLURM_NTASKS",
                                                 "SLURM_STEP_NUM_TASKS", "PMI_RANK",     "PMI_FD",        "PMI_SIZE",
                                                 "OMPI_COMM_WORLD_SIZE", "PMIX_RANK"};
    std::map<std::string, std::string> saved_;
};

TEST_F(FindBootstrap, WithoutALauncherTheJobIsOne) {
    const auto bootstrap = find_bootstrap();
    EXPECT_EQ(bootstrap->name(), "alone");
    EXPECT_EQ(bootstrap->place().size, 1);
}

TEST_F(FindBootstrap, AnUnusableDescriptorIsAnErrorAndNotAJobOfOne) {
    expect_unusable("", "not a descriptor number");
    expect_unusable("x", "not a descriptor number");
    expect_unusable("-1", "not a descriptor number");
    expect_unusable("5x", "not a descriptor number");
    expect_unusable("99999999999999", "not a descriptor number");
    expect_unusable("987654", "not open");

    const Descriptor file(::open("/dev/null", O_RDWR | O_CLOEXEC));
    expect_unusable(std::to_string(file.get()), "not the launcher's socket");

    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const Descriptor mine(ends[0]);
    Descriptor other(ends[1]);
    expect_unusable(std::to_string(mine.get()), "no welcome");
    ASSERT_EQ(::send(other.get(), "something else", 14, 0), 14);
    expect_unusable(std::to_string(mine.get()), "not Rollcall's protocol");
    // It looked, and took nothing of what belongs to somebody else.
    char text[32];
    EXPECT_EQ(::recv(mine.get(), text, sizeof text, MSG_DONTWAIT), 14);
    other.reset();
    expect_unusable(std::to_string(mine.get()), "the launcher is gone");
}

/// The launcher's side of one rank, by hand.
struct LauncherEnd {
    Descriptor control;
    Descriptor notices;
    std::unique_ptr<Launched> rank;

    LauncherEnd() {
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        control.reset(ends[0]);
        const int inherited = ends[1];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        notices.reset(ends[0]);
        const Descriptor passed(ends[1]);
        Place place;
        place.rank = 1;
        place.size = place.local_size = 2;
        place.local_rank = 1;
        place.host = "h";
        const Blob frame = encode_welcome(place);
        EXPECT_TRUE(send_with_descriptor(control.get(), frame, passed.get()));
        rank = std::make_unique<Launched>(std::to_string(inherited));
        EXPECT_NE(::fcntl(inherited, F_GETFD) & FD_CLOEXEC, 0);
    }
    void send(const Blob& frame) const {
        ASSERT_EQ(::send(control.get(), frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
    }
};

TEST(LaunchedRank, GivesUpAtItsDeadlineAndDropsTheLateAnswer) {
    LauncherEnd end;
    int turns = 0;
    EXPECT_EQ(error_of([&] { end.rank->barrier([&] { ++turns; }, std::chrono::milliseconds(20)); }).code(), ErrorCode::timeout);
    EXPECT_GT(turns, 0);
    EXPECT_EQ(error_of([&] { end.rank->barrier({}, Timeout::zero()); }).code(), ErrorCode::timeout);
    for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
        end.send(FrameWriter(FrameType::released).u64(sequence).finish());
    }
    end.rank->barrier({}, kForever);
}

TEST(LaunchedRank, RefusesABlobThatIsTooLongBeforeSendingIt) {
    LauncherEnd end;
    const Blob long_one(kLongestBlob + 1);
    EXPECT_EQ(error_of([&] { end.rank->exchange(long_one, {}, kForever); }).code(), ErrorCode::invalid_argument);
}

/// While it lives this process cannot open anything more.
class NoMoreFiles {
  public:
    NoMoreFiles() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit none{0, before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    NoMoreFiles(const NoMoreFiles&) = delete;
    NoMoreFiles& operator=(const NoMoreFiles&) = delete;

  private:
    rlimit before_{};
};

TEST(LaunchedRank, SaysThatAnAnswerCameWithoutItsMemory) {
    LauncherEnd end;
    const Descriptor memory(::memfd_create("rollcall-test", MFD_CLOEXEC));
    ASSERT_TRUE(send_with_descriptor(end.control.get(), FrameWriter(FrameType::gathered_memory).u64(1).u64(100).finish(), memory.get()));
    const Error error = error_of([&] {
        const NoMoreFiles none;
        end.rank->exchange({}, {}, kForever);
    });
    EXPECT_EQ(error.code(), ErrorCode::bootstrap);
    EXPECT_TRUE(contains(error.what(), "came without its memory (is the limit of open files reached?)"));
}

TEST(LaunchedRank, TakesNoAnswerFromMemoryThatIsTooShort) {
    LauncherEnd end;
    const Descriptor memory(::memfd_create("rollcall-test", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(memory.get(), 99), 0);
    ASSERT_TRUE(send_with_descriptor(end.control.get(), FrameWriter(FrameType::gathered_memory).u64(1).u64(100).finish(), memory.get()));
    EXPECT_TRUE(contains(error_of([&] { end.rank->exchange({}, {}, kForever); }).what(), "99 bytes of 100"));
}

TEST(Inboxes, KeepNoDescriptorForAFrameThatCameWithoutItsOwn) {
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
    // Both are ready; whichever is called first puts another in the place of the other, which is not.
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

TEST(LaunchedRank, AFailureNamesTheRank) {
    LauncherEnd end;
    end.send(FrameWriter(FrameType::failed)
                 .u64(1)
                 .u32(static_cast<std::uint32_t>(ErrorCode::peer_failed))
                 .i32(0)
                 .text("rank 0 on host h died")
                 .finish());
    const Error error = error_of([&] { end.rank->barrier({}, kForever); });
    EXPECT_EQ(error.code(), ErrorCode::peer_failed);
    EXPECT_EQ(error.failed_rank(), 0);
    EXPECT_TRUE(contains(error.what(), "rank 0 on host h died"));
}

TEST(LaunchedRank, ADeadLauncherIsToldOnceAndThenSilent) {
    LauncherEnd end;
    const auto readable = [&] {
        pollfd entry{end.rank->notice_descriptor(), POLLIN, 0};
        return ::poll(&entry, 1, 0) == 1;
    };
    EXPECT_FALSE(readable());
    EXPECT_FALSE(end.rank->take_notice());
    const Blob record = encode_notice({0, "exited with code 3"});
    ASSERT_GT(::send(end.notices.get(), record.data(), record.size(), 0), 0);
    EXPECT_TRUE(readable());
    const auto notice = end.rank->take_notice();
    ASSERT_TRUE(notice);
    EXPECT_EQ(notice->rank, 0);
    EXPECT_EQ(notice->how, "exited with code 3");
    EXPECT_FALSE(readable());

    end.notices.reset();
    end.control.reset();
    EXPECT_TRUE(readable());
    const auto last = end.rank->take_notice();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->rank, -1);
    EXPECT_TRUE(contains(last->how, "rollcall run"));
    EXPECT_FALSE(readable());
    EXPECT_FALSE(end.rank->take_notice());
    const Error error = error_of([&] { end.rank->exchange({}, {}, kForever); });
    EXPECT_EQ(error.code(), ErrorCode::bootstrap);
    EXPECT_TRUE(contains(error.what(), "rollcall run"));
    end.rank->leave();
    end.rank->abort(3, "nobody hears it");
}

}  // namespace
}  // namespace rollcall::bootstrap
