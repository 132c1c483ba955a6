/// \file
/// What the launcher tells its agents: which agent starts which others, and that the launcher is still there.
#include <sys/socket.h>

#include <cctype>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "foundation/host_name.hpp"
#include "launcher/job.hpp"
#include "launcher/link.hpp"
#include "launcher/protocol.hpp"

namespace rollcall::launcher {
namespace {

LaunchOptions options_on(const std::vector<std::string>& hosts) {
    LaunchOptions options;
    options.applications.push_back({{"true"}, static_cast<int>(hosts.size()), {}});
    for (const auto& name : hosts) options.hosts.push_back({name, 1, true});
    return options;
}

TEST(LaunchOrder, AHostOfTheSameNameAtAnotherSiteIsAnotherHost) {
    const std::string own = host_name();
    const std::string elsewhere = own.substr(0, own.find('.')) + ".other-site.example";
    const Order here = make_order(options_on({own}));
    EXPECT_EQ(here.hosts.size(), 1u);
    const Order there = make_order(options_on({elsewhere}));
    ASSERT_EQ(there.hosts.size(), 2u);
    EXPECT_TRUE(there.hosts[0].ranks.empty());
    EXPECT_EQ(there.hosts[1].name, elsewhere);
}

TEST(LaunchOrder, ThisHostIsKnownByItsNameAndItsAddresses) {
    std::string loud = host_name();
    for (char& letter : loud) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    for (const std::string& name : {loud, std::string("localhost"), std::string("127.0.0.1")})
        EXPECT_EQ(make_order(options_on({name})).hosts.size(), 1u) << name;
    // The first two are kept for documentation, and the third is no host.
    for (const char* const name : {"192.0.2.7", "2001:db8::7", "0.0.0.0", "anna@localhost"})
        EXPECT_EQ(make_order(options_on({name})).hosts.size(), 2u) << name;
}

TEST(LaunchOrder, IsDividedAmongTheAgents) {
    auto options = options_on({"h1", "h2", "h3", "h4", "h5", "h6", "h7"});
    options.agent = "some shell";
    options.fanout = 2;
    const auto parts = parts_below(make_order(options));
    const std::vector<std::vector<std::string>> names = {{"h1", "h3", "h4", "h7"}, {"h2", "h5", "h6"}};
    const std::vector<std::vector<int>> above = {{-1, 0, 0, 1}, {-1, 0, 0}};
    ASSERT_EQ(parts.size(), names.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        bootstrap::Inbox inbox(kLongestAgentFrame);
        inbox.append(encode_order(parts[i]));
        const Order part = decode_order(inbox.next()->body);
        EXPECT_EQ(part.remote_shell, "some shell");
        ASSERT_EQ(part.hosts.size(), names[i].size());
        for (std::size_t host = 0; host < part.hosts.size(); ++host) {
            EXPECT_EQ(part.hosts[host].name, names[i][host]);
            EXPECT_EQ(part.hosts[host].above, above[i][host]);
            ASSERT_EQ(part.hosts[host].ranks.size(), 1u);
            EXPECT_EQ("h" + std::to_string(part.hosts[host].ranks.front().rank + 1), names[i][host]);
        }
    }
    // What is below the first agent is divided in the same way.
    const auto next = parts_below(parts[0]);
    ASSERT_EQ(next.size(), 2u);
    EXPECT_EQ(next[0].hosts.size(), 2u);
    EXPECT_EQ(next[1].hosts.front().name, "h4");
}

TEST(LauncherStreams, HaveLessUnderWayInLargeJobs) {
    constexpr std::size_t kKiB = 1024;
    EXPECT_EQ(stream_window(1), 256 * kKiB);
    EXPECT_EQ(stream_window(512), 256 * kKiB);
    EXPECT_EQ(stream_window(1024), 128 * kKiB);
    EXPECT_EQ(stream_window(32768), 4 * kKiB);
    EXPECT_EQ(stream_window(65536), 4 * kKiB);
}

/// A process that was stopped, or busy, for longer than the silence has not been listening.
TEST(LauncherLink, WhatHasComeIsHeardBeforeASilenceCounts) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const Descriptor other(ends[1]);
    Poller poller;
    std::string closed;
    Link link(
        poller, Descriptor(ends[0]), Descriptor(), [](const bootstrap::Frame&) {},
        [&](Link::Cause, const std::string& how) { closed = how; });
    const auto heartbeat = bootstrap::FrameWriter(bootstrap::FrameType::heartbeat).finish();
    ASSERT_EQ(::send(other.get(), heartbeat.data(), heartbeat.size(), 0), static_cast<ssize_t>(heartbeat.size()));
    link.watch(1);  // a nanosecond, which is over
    link.tick();
    EXPECT_EQ(closed, "");
    link.tick();
    EXPECT_NE(closed.find("nothing was heard"), std::string::npos) << closed;
}

}  // namespace
}  // namespace rollcall::launcher
