/// \file
/// The connection between the launcher and an agent.
#include "launcher/link.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "foundation/clock.hpp"
#include "foundation/ends.hpp"
#include "launcher/protocol.hpp"
#include "launcher/streams/poller.hpp"

namespace rollcall::launcher {
namespace {

/// A remote shell takes bytes also if its host is gone.
TEST(LauncherLinks, WhoTakesBytesAndSaysNothingIsLost) {
    Ends ends = make_sockets(SOCK_STREAM);
    ASSERT_TRUE(ends);
    Poller poller;
    std::string closed;
    std::optional<Link::Cause> cause;
    Link link(
        poller, std::move(ends.first), Descriptor(), [](const Frame&) {},
        [&](Link::Cause why, const std::string& how) { cause = why, closed = how; });
    link.watch(200 * kMillisecond);
    std::vector<char> chunk(std::size_t{1} << 20);
    const std::string long_text(50'000, 'x');
    for (const Nanoseconds until = deadline_after(std::chrono::seconds(3)); closed.empty() && monotonic_now() < until;) {
        if (link.sent_all()) {
            for (int i = 0; i < 20; ++i) link.send(encode_stream(FrameType::agent_output, 0, false, long_text));
        }
        poller.wait(std::min(link.tick_at(), monotonic_now() + 10 * kMillisecond));
        link.tick();
        while (::recv(ends.second.get(), chunk.data(), chunk.size(), MSG_DONTWAIT) > 0) {
        }
    }
    EXPECT_EQ(cause, Link::Cause::silent) << closed;
    EXPECT_TRUE(closed.starts_with("nothing was heard of it")) << closed;
}

}  // namespace
}  // namespace rollcall::launcher
