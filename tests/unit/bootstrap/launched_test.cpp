/// \file
/// How a process finds out what started it, a rank's end of the launcher's sockets, and being alone.
#include "bootstrap/launched.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <rollcall/error.hpp>

#include "bootstrap/alone.hpp"
#include "bootstrap/frames.hpp"
#include "bootstrap/passing.hpp"
#include "foundation/descriptor.hpp"
#include "tests/sanitizers.hpp"
#include "tests/unit/errors.hpp"
#include "tests/unit/no_more_files.hpp"

namespace rollcall::bootstrap {
namespace {

std::vector<Blob> blobs(const Gathered& gathered) {
    std::vector<Blob> all;
    for (std::size_t rank = 0; rank < gathered.size(); ++rank) all.emplace_back(gathered[rank].begin(), gathered[rank].end());
    return all;
}

TEST(AloneInItsJob, AnswersItself) {
    Alone alone;
    EXPECT_EQ(alone.name(), "alone");
    EXPECT_EQ(alone.place().rank, 0);
    EXPECT_EQ(alone.place().size, 1);
    EXPECT_EQ(alone.place().local_size, 1);
    EXPECT_EQ(alone.place().hosts, 1);
    EXPECT_FALSE(alone.place().host.empty());
    const Blob mine(10, std::byte{7});
    EXPECT_EQ(blobs(alone.exchange(mine, {}, kForever)), std::vector<Blob>{mine});
    EXPECT_EQ(blobs(alone.exchange({}, {}, kForever)), std::vector<Blob>{Blob{}});
    alone.barrier({}, kForever);
    EXPECT_EQ(alone.notice_descriptor(), -1);
    EXPECT_FALSE(alone.take_notice());
    alone.leave();
}

/// Gives each test an environment without the variables of a launcher that happens to run the tests.
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
    expect_unusable(std::to_string(mine.get()), "another process has already joined");
    ASSERT_EQ(::send(other.get(), "something else", 14, 0), 14);
    expect_unusable(std::to_string(mine.get()), "not Rollcall's protocol");
    // It looked, and took nothing that belongs to another process.
    char text[32];
    EXPECT_EQ(::recv(mine.get(), text, sizeof text, MSG_DONTWAIT), 14);
    other.reset();
    expect_unusable(std::to_string(mine.get()), "the launcher is gone");
}

/// The launcher's end of one rank's sockets, which the test drives.
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

TEST(LaunchedRank, SaysThatAnAnswerCameWithoutItsMemory) {
    if (test::kNeedsDescriptors) GTEST_SKIP() << test::kNeedsDescriptors;
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

/// A child of the rank that outlives it must not hide its end.
TEST(LaunchedRank, TakesItsConnectionsFromItsChildren) {
    LauncherEnd end;
    int runs[2];
    ASSERT_EQ(::pipe2(runs, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        if (::write(runs[1], "x", 1) != 1) ::_exit(1);
        for (;;) ::pause();
    }
    char data[1000];
    EXPECT_EQ(::read(runs[0], data, 1), 1);
    for (const int one : runs) ::close(one);
    end.rank.reset();
    EXPECT_GT(::recv(end.control.get(), data, sizeof data, MSG_DONTWAIT), 0) << "it has joined";
    EXPECT_EQ(::recv(end.control.get(), data, sizeof data, MSG_DONTWAIT), 0) << "it is still open";
    EXPECT_EQ(::recv(end.notices.get(), data, sizeof data, MSG_DONTWAIT), 0) << "it is still open";
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace rollcall::bootstrap
