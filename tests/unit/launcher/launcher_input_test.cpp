/// \file
/// Standard input that another process reads, too.
#include "launcher/streams/input.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "foundation/descriptor.hpp"
#include "foundation/ends.hpp"
#include "launcher/streams/poller.hpp"

namespace rollcall::launcher {
namespace {

struct Source {
    Descriptor reader, writer;
};

Source terminal() {
    Descriptor master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!master || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0) return {};
    Descriptor slave(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
    return {std::move(slave), std::move(master)};
}

Source of_ends(Ends ends) { return {std::move(ends.first), std::move(ends.second)}; }

/// A pager, for example, reads keys from the terminal of the launcher. A key wakes both, and the pager takes it.
TEST(LauncherInput, DoesNotWaitForWhatAnotherReaderHasTaken) {
    for (Source& source : std::array{terminal(), of_ends(make_pipe()), of_ends(make_sockets(SOCK_STREAM))}) {
        ASSERT_TRUE(source.reader);
        Poller poller;
        const auto write = [&](const std::string& line) {
            ASSERT_EQ(::write(source.writer.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
        };
        // The poller finds both descriptors ready, this one first.
        const Descriptor other(::eventfd(1, EFD_CLOEXEC));
        poller.add(other.get(), EPOLLIN, [&](std::uint32_t) {
            std::array<char, 16> taken;
            EXPECT_EQ(::read(source.reader.get(), taken.data(), taken.size()), 2);
            poller.remove(other.get());
        });
        std::string got;
        Input input(poller, source.reader.get(), -1, {0}, [&](int, std::string_view bytes) { got += bytes; });
        write("1\n");
        input.start();
        std::atomic<bool> is_back = false;
        // Without this line, a read that waits would never end.
        std::thread rescue([&] {
            for (int i = 0; i < 200 && !is_back; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
            if (!is_back) write("2\n");
        });
        poller.wait(kNever);
        is_back = true;
        rescue.join();
        EXPECT_EQ(got, "");
        write("3\n");
        while (got.empty()) poller.wait(kNever);
        EXPECT_EQ(got, "3\n");
    }
}

// Who wrote has closed the pipe before the launcher looks at it. A description that is opened after that never reports the end.
TEST(LauncherInput, EndsWithANamedPipe) {
    const std::string path = testing::TempDir() + "/rollcall_input_" + std::to_string(::getpid());
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    Descriptor writer(::open(path.c_str(), O_RDWR | O_CLOEXEC));  // does not wait for a reader
    const Descriptor reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ::unlink(path.c_str());
    ASSERT_TRUE(reader);
    ASSERT_EQ(::write(writer.get(), "hi", 2), 2);
    writer.reset();
    Poller poller;
    std::string got;
    bool has_ended = false;
    Input* taker = nullptr;
    Input input(poller, reader.get(), -1, {0}, [&](int rank, std::string_view bytes) {
        got += bytes;
        has_ended = bytes.empty();
        if (!bytes.empty()) taker->taken(rank, bytes.size(), false);
    });
    taker = &input;
    input.start();
    const Nanoseconds end = monotonic_now() + 10'000 * kMillisecond;
    while (!has_ended && monotonic_now() < end) poller.wait(100 * kMillisecond);
    EXPECT_EQ(got, "hi");
    EXPECT_TRUE(has_ended);
}

}  // namespace
}  // namespace rollcall::launcher
