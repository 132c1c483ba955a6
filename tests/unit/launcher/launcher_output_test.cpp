#include "launcher/streams/output.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "foundation/clock.hpp"
#include "launcher/forwarder.hpp"
#include "launcher/protocol.hpp"
#include "launcher/streams/poller.hpp"

namespace rollcall::launcher {
namespace {

constexpr std::size_t kPipe = std::size_t{1} << 20;

/// An Output into a pipe that takes a megabyte.
class LauncherOutput : public testing::Test {
  protected:
    LauncherOutput() : error_(::memfd_create("error", MFD_CLOEXEC)) {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        in_.reset(ends[0]);
        out_.reset(ends[1]);
        EXPECT_EQ(::fcntl(out_.get(), F_SETPIPE_SZ, kPipe), static_cast<int>(kPipe));
        output_ = std::make_unique<Output>(poller_, out_.get(), error_.get(), Output::Beginning(), "",
                                           [this](int rank, bool, std::size_t bytes) { taken_[rank] += bytes; });
    }

    void feed(int rank, std::string_view bytes) { output_->feed(rank, false, bytes); }
    void end(int rank) { output_->feed(rank, false, {}); }

    /// What is in the pipe now.
    std::string written() const {
        std::string all;
        std::array<char, 65536> chunk;
        for (ssize_t bytes; (bytes = ::read(in_.get(), chunk.data(), chunk.size())) > 0;) {
            all.append(chunk.data(), static_cast<std::size_t>(bytes));
        }
        return all;
    }

    Poller poller_;
    std::map<int, std::size_t> taken_;
    Descriptor in_;
    Descriptor out_;
    Descriptor error_;
    std::unique_ptr<Output> output_;
};

/// Nothing here lets time pass for it: tick() is not called.
TEST_F(LauncherOutput, ALineInPiecesStaysWhole) {
    feed(0, "one");
    feed(1, "line\n");
    feed(0, "two");
    feed(1, "line\nli");
    feed(0, "three\n");
    feed(1, "ne\n");
    EXPECT_EQ(written(), "line\nline\nonetwothree\nline\n");
}

/// As a progress bar, which may be rewritten more often than a pause could be seen.
TEST_F(LauncherOutput, ACarriageReturnEndsAPiece) {
    feed(0, "10%\r");
    EXPECT_EQ(written(), "") << "a newline may follow";
    feed(0, "20%\r");
    EXPECT_EQ(written(), "10%\r");
    feed(1, "line\r\n");
    feed(0, "30%");
    EXPECT_EQ(written(), "line\r\n20%\r");
    feed(0, "\r\n");
    EXPECT_EQ(written(), "30%\r\n");
}

/// Its beginning is passed on after a second, though its writer never pauses.
TEST_F(LauncherOutput, ALineThatGoesOnAndOnIsShown) {
    const Nanoseconds until = deadline_after(std::chrono::seconds(20));
    std::string shown;
    while (shown.empty() && monotonic_now() < until) {
        feed(0, ".");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (output_->tick_at() <= monotonic_now()) output_->tick();
        shown = written();
    }
    EXPECT_FALSE(shown.empty());
}

TEST_F(LauncherOutput, AVeryLongLineKeepsTheOthersWaiting) {
    const std::string piece(70000, 'L');
    feed(0, piece);
    feed(1, "line\n");
    feed(0, piece);
    EXPECT_TRUE(written() == piece + piece);
    feed(0, "\n");
    EXPECT_EQ(written(), "\nline\n");
}

TEST_F(LauncherOutput, AFullOutputIsFullForAllRanks) {
    feed(1, "line\n");
    const std::string block(70000, 'L');
    std::size_t fed = 0;
    for (; taken_[0] == fed; fed += block.size()) feed(0, block);  // until one is not taken
    EXPECT_LT(fed, 3 * kPipe);
    feed(1, "line\n");
    EXPECT_EQ(taken_[1], 5u);
    feed(2, "line\n");
    EXPECT_EQ(taken_[2], 0u);
    EXPECT_FALSE(output_->idle());
}

/// When the output is full and then gives way while a stream is being written, that stream is read on from within.
TEST_F(LauncherOutput, WhatWaitedIsWrittenOnceAndInOrder) {
    const std::string block(70000, 'L');
    std::string sent;
    const auto lines = [&sent] {
        std::string all;
        while (all.size() < 65000) all += fmt::format("line {}\n", sent.size() + all.size());
        sent += all;
        return all;
    };
    feed(0, block);
    for (int i = 0; i < 3; ++i) feed(1, lines());  // the last one stays unread: the long line is to end first
    EXPECT_LT(taken_[1], sent.size());
    std::size_t fed = block.size();
    for (; fed < 2 * kPipe; fed += block.size()) feed(0, block);  // the pipe and as much that waits
    EXPECT_EQ(taken_[0], fed);
    std::string got = written();  // room, of which the output has not heard yet
    end(0);
    for (int i = 0; i < 100 && (!output_->idle() || i == 0); ++i) {
        poller_.wait(monotonic_now() + kMillisecond);
        got += written();
        if (i == 10) end(1);
    }
    EXPECT_TRUE(output_->idle());
    EXPECT_EQ(got.size(), fed + sent.size());
    EXPECT_TRUE(got == std::string(fed, 'L') + sent);
}

/// A process that SIGKILL has not ended, which writes without end until nobody reads, or until a time that only a failing test reaches.
class EndlessWriter {
  public:
    EndlessWriter() {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        read_.reset(ends[0]);
        ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
        thread_ = std::thread([this, out = ends[1]] {
            sigset_t broken;
            ::sigemptyset(&broken);
            ::sigaddset(&broken, SIGPIPE);
            ::pthread_sigmask(SIG_BLOCK, &broken, nullptr);
            const std::string line(1000, 'x');
            const Nanoseconds until = deadline_after(std::chrono::seconds(5));
            ssize_t written = 0;
            while ((written = ::write(out, line.data(), line.size())) > 0 && monotonic_now() < until) {
            }
            was_told_ = written < 0;
            ::close(out);
        });
    }
    Descriptor take() { return std::move(read_); }
    /// Waits for its end. Returns whether it ended because nobody reads.
    bool was_told() {
        thread_.join();
        return was_told_;
    }

  private:
    Descriptor read_;
    bool was_told_ = false;
    std::thread thread_;
};

/// A job may have far more ranks in the course of its time than this process may have open files.
TEST(LauncherFiles, AreOpenOnlyWhileTheirRankWrites) {
    const auto directory = std::filesystem::path(testing::TempDir()) / fmt::format("rollcall-files-{}", ::getpid());
    const auto open_files = [] {
        const std::filesystem::directory_iterator all("/proc/self/fd");
        return std::distance(begin(all), end(all));
    };
    const Descriptor null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    Poller poller;
    Output output(poller, null.get(), null.get(), Output::Beginning(), directory.string(), [](int, bool, std::size_t) {});
    const auto before = open_files();
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    output.add(0, false, Descriptor(ends[0]));
    Descriptor writer(ends[1]);
    output.feed(1, false, "line\nrest");
    output.feed(1, true, {});
    EXPECT_EQ(open_files(), before + 4);  // both ends of the pipe, its file, and the one of rank 1 that has not ended
    output.feed(1, false, {});
    ASSERT_EQ(::write(writer.get(), "here", 4), 4);
    writer.reset();
    for (const Nanoseconds until = deadline_after(std::chrono::seconds(20)); !output.idle() && monotonic_now() < until;) poller.wait(until);
    EXPECT_EQ(open_files(), before);
    output.check_files();
    EXPECT_EQ(output.failure(), "");
    const auto text = [&](const char* name) {
        std::ifstream file(directory / name);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    EXPECT_EQ(text("rank.0.out"), "here");
    EXPECT_EQ(text("rank.1.out"), "line\nrest");
    EXPECT_TRUE(std::filesystem::exists(directory / "rank.1.err"));
    std::filesystem::remove_all(directory);
}

TEST(LauncherFinish, AWriterThatCannotBeEndedDoesNotKeepTheOutputOpen) {
    const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    Poller poller;
    Output output(poller, nowhere.get(), nowhere.get(), Output::Beginning(), "", [](int, bool, std::size_t) {});
    EndlessWriter writer;
    output.add(0, false, writer.take());
    output.finish();
    EXPECT_TRUE(output.idle());
    EXPECT_TRUE(writer.was_told());
}

/// As with `| less`: the output is full when the job ends, and is taken later. Then a writer that lives on and is silent gives no events.
TEST_F(LauncherOutput, ASilentWriterThatCannotBeEndedDoesNotKeepAFullOutputOpen) {
    const std::string words = "last words\n";
    std::vector<Descriptor> writers;
    feed(0, std::string(3 * kPipe, 'L') + "\n");
    end(0);
    for (const bool speaks : {false, true}) {
        int ends[2];
        ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        writers.emplace_back(ends[1]);
        if (speaks) {
            ASSERT_EQ(::write(ends[1], words.data(), words.size()), static_cast<ssize_t>(words.size()));
        }
        output_->add(1 + static_cast<int>(speaks), false, Descriptor(ends[0]));
    }
    output_->finish();
    EXPECT_FALSE(output_->idle());
    std::string got, more;
    do {
        more = written();
        got += more;
        poller_.wait(monotonic_now());
    } while (!more.empty());
    EXPECT_TRUE(output_->idle());
    EXPECT_TRUE(got.ends_with("\n" + words));
}

/// As what remote shells say while nobody reads.
TEST(LauncherSentences, AreLeftOutWhenTooManyWait) {
    constexpr int kSentences = 10'000;
    const std::string sentence(1000, 'x');
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    const Descriptor in(ends[0]), error(ends[1]), out(::memfd_create("out", MFD_CLOEXEC));
    Poller poller;
    Output output(poller, out.get(), error.get(), Output::Beginning(), "", [](int, bool, std::size_t) {});
    for (int i = 0; i < kSentences; ++i) output.say(sentence);
    std::string got;
    const auto read_all = [&] {
        std::vector<char> chunk(65536);
        while (!output.idle()) {
            const ssize_t bytes = ::read(in.get(), chunk.data(), chunk.size());
            if (bytes > 0) got.append(chunk.data(), static_cast<std::size_t>(bytes));
            poller.wait(monotonic_now());
        }
        for (ssize_t bytes; (bytes = ::read(in.get(), chunk.data(), chunk.size())) > 0;)
            got.append(chunk.data(), static_cast<std::size_t>(bytes));
    };
    read_all();
    EXPECT_GT(got.size(), 1u << 20);
    EXPECT_LT(got.size(), 6u << 20);
    EXPECT_TRUE(got.ends_with("x\nrollcall run: messages of the launcher are left out here, because nothing read its standard error\n"));
    got.clear();
    output.say("there is room again");
    read_all();
    EXPECT_EQ(got, "there is room again\n");
}

TEST(LauncherFinish, AWriterThatCannotBeEndedDoesNotKeepAnAgent) {
    EndlessWriter writer;
    {
        Poller poller;
        Forwarder forwarder(poller, stream_window(1), [](const Blob&) {});
        forwarder.add(0, false, writer.take());
        forwarder.finish();
        EXPECT_TRUE(forwarder.idle()) << "it goes on when the launcher has taken what it has sent";
    }
    EXPECT_TRUE(writer.was_told());
}

}  // namespace
}  // namespace rollcall::launcher
