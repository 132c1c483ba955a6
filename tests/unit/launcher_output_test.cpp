#include "launcher/output.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "launcher/clock.hpp"
#include "launcher/poller.hpp"

namespace rollcall::launcher {
namespace {

/// An Output into files without names, as it is after its constructor.
class LauncherOutput : public testing::Test {
  protected:
    LauncherOutput() : out_(::memfd_create("out", MFD_CLOEXEC)), error_(::memfd_create("error", MFD_CLOEXEC)) {}

    void make(bool tag) {
        output_ = std::make_unique<Output>(poller_, out_.get(), error_.get(), tag, "", [](int, bool, std::size_t) {});
    }
    void feed(int rank, std::string_view bytes) { output_->feed(rank, false, bytes); }
    void end(int rank) { output_->feed(rank, false, {}); }

    std::string written() const {
        std::string all;
        std::array<char, 65536> chunk;
        for (ssize_t bytes; (bytes = ::pread(out_.get(), chunk.data(), chunk.size(), static_cast<off_t>(all.size()))) > 0;) {
            all.append(chunk.data(), static_cast<std::size_t>(bytes));
        }
        return all;
    }

    Poller poller_;
    bootstrap::Descriptor out_;
    bootstrap::Descriptor error_;
    std::unique_ptr<Output> output_;
};

/// Nothing here lets time pass for it: tick() is not called.
TEST_F(LauncherOutput, ALineInPiecesStaysWhole) {
    make(false);
    feed(0, "one");
    feed(1, "line\n");
    feed(0, "two");
    feed(1, "line\nli");
    feed(0, "three\n");
    feed(1, "ne\n");
    EXPECT_EQ(written(), "line\nline\nonetwothree\nline\n");
}

TEST_F(LauncherOutput, AVeryLongLineKeepsTheOthersWaiting) {
    make(false);
    const std::string piece(70000, 'L');
    feed(0, piece);
    feed(1, "line\n");
    feed(0, piece);
    EXPECT_EQ(written(), piece + piece);
    feed(0, "\n");
    EXPECT_EQ(written(), piece + piece + "\nline\n");
}

/// What waits for a very long line is more than the output takes at a time: while it is written, its own stream is read on.
TEST_F(LauncherOutput, WhatWaitedIsWrittenOnceAndInOrder) {
    make(true);
    feed(0, std::string(70000, 'L'));
    // Short lines: with their tags they are nine times as many bytes. Some have a number, to tell them apart.
    constexpr int kRank = 65535;
    std::string sent;
    int number = 0;
    for (int block = 0; block < 3; ++block) {
        std::string lines;
        while (lines.size() < 65000) {
            if (number % 50 == 0) lines += std::to_string(number);
            lines += "\n";
            ++number;
        }
        feed(kRank, lines);
        sent += lines;
    }
    feed(0, "\n");
    end(0);
    end(kRank);
    output_->finish();
    EXPECT_TRUE(output_->idle());

    const std::string all = written();
    const std::string tag = "[65535] ";
    std::string got;
    for (std::size_t at = 0; (at = all.find(tag, at)) != std::string::npos;) {
        at += tag.size();
        const auto end = all.find('\n', at);
        got += all.substr(at, end + 1 - at);
    }
    EXPECT_EQ(got.size(), sent.size());
    EXPECT_TRUE(got == sent);
}

}  // namespace
}  // namespace rollcall::launcher
