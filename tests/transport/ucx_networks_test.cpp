// Tests that a network which UCX cannot open is not used.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/log.hpp"
#include "tests/common.hpp"
#include "tests/transport/world.hpp"
#include "transports/catalogue.hpp"
#include "transports/options.hpp"

namespace rollcall::test {
namespace {

constexpr int kNotAllowed = 77;

// Puts a /sys/class in place that has an RDMA device and the network interfaces of this host, in a namespace of this process.
void add_a_device() {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(kNotAllowed);
    const int net = ::open("/sys/class/net", O_PATH | O_CLOEXEC);  // of this namespace
    const auto its = "/proc/self/fd/" + std::to_string(net);
    if (net < 0 || ::mount("tmpfs", "/sys/class", "tmpfs", 0, nullptr) != 0 || ::mkdir("/sys/class/net", 0755) != 0 ||
        ::mount(its.c_str(), "/sys/class/net", nullptr, MS_BIND, nullptr) != 0 || ::mkdir("/sys/class/infiniband", 0755) != 0 ||
        ::mkdir("/sys/class/infiniband/mlx5_0", 0755) != 0)
        ::_exit(kNotAllowed);
}

// So it is in a container without /dev/infiniband. Over TCP, buffers that are given up must come back at once.
TEST(UcxNetworks, ThatCannotBeOpenedAreNotUsed) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may mount a /sys/class";
    const pid_t child = ::fork();
    if (child == 0) {
        add_a_device();
        ::execl("/proc/self/exe", "transport_tests", "--gtest_brief=1",
                "--gtest_filter=*.ThatTheirSenderGivesUpAreWithdrawn/ucx_tcp:*.ThatHaveMovedAreSentFromTheCopy/ucx_tcp:"
                "*.ThatTheirReceiverGivesUpAreThrownAway/ucx_tcp",
                nullptr);
        ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNotAllowed) GTEST_SKIP() << "there may be no mount namespaces here";
    EXPECT_EQ(status, 0);
}

// A job takes all RDMA ports of its hosts, also those that UCX cannot open.
TEST(UcxNetworks, ThatAreMissingAreToldIfTheUserHasNamedThem) {
    if (std::getenv("UCX_NET_DEVICES") || std::getenv("UCX_LOG_LEVEL")) GTEST_SKIP() << "UCX has other settings here";
    prepare({"", "ucx", {{"UCX_TLS", "tcp,self"}}});
    start_log("warning");
    transport::TransportOptions options;
    for (const char* name : {"lo", "mlx5_99:1"}) options.interfaces.emplace_back().name = name;
    for (const bool named : {false, true}) {
        options.interfaces_named = named;
        testing::internal::CaptureStderr();
        transport::make_transport("ucx", options);
        const std::string told = testing::internal::GetCapturedStderr();
        EXPECT_EQ(count(told, "'mlx5_99:1' is not available"), named ? 1 : 0) << told;
        EXPECT_EQ(told.empty(), !named) << told;
    }
}

// Limits of message sizes depend on it.
TEST(UcxNetworks, AreTcpWhereThereIsNothingElse) {
    for (const Way& way : ways()) {
        if (way.transport != "ucx") continue;
        World world(way, 1);
        EXPECT_EQ(world[0].transport->uses_tcp(), way.name.starts_with("ucx_tcp")) << way.name;
    }
}

// Over RDMA a caller that gives up waits for the end of the transfer.
TEST(UcxDirect, TransfersKeepTheirBuffersUntilTheyEnd) {
    const auto way = std::ranges::find(ways(), "ucx_tcp_direct", &Way::name);
    ASSERT_NE(way, ways().end());
    World world(*way, 2);
    for (const std::size_t size : {10'000u, 4'000'000u}) {
        const auto payload = pattern(size, 1);
        std::vector<std::byte> landed(size), copy(size);
        Told sent, fetched, heir;
        world[1].heard.clear();
        sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), size}, transport::Path::large, sent));
        ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
        EXPECT_FALSE(world[0].transport->release(1, sent));
        EXPECT_FALSE(world[0].transport->move_payload(1, sent, {copy.data(), size}, heir));
        fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), size}, fetched));
        if (!fetched.ended()) {
            EXPECT_FALSE(world[1].transport->release(0, fetched));
        }
        ASSERT_TRUE(world.until([&] { return sent.ended() && fetched.ended(); }));
        EXPECT_EQ(sent.outcome, transport::Outcome::ok);
        EXPECT_EQ(fetched.outcome, transport::Outcome::ok);
        EXPECT_TRUE(landed == payload);
    }
    EXPECT_TRUE(world.close());
}

// UCX does not get short data, so that it can be given up.
TEST(UcxDirect, IsNotTheWayOfShortData) {
    const auto way = std::ranges::find(ways(), "ucx_tcp_direct", &Way::name);
    ASSERT_NE(way, ways().end());
    World world(*way, 2);
    const auto short_one = pattern(8000, 1);
    Told sent;
    sent.note(world[0].transport->send(1, header_of(0, 1), {short_one.data(), short_one.size()}, transport::Path::large, sent));
    ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
    EXPECT_TRUE(world[0].transport->release(1, sent));
    std::vector<std::byte> landed(short_one.size());
    Told fetched;
    fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), landed.size()}, fetched));
    ASSERT_TRUE(world.until([&] { return fetched.ended(); }));
    EXPECT_EQ(fetched.outcome, transport::Outcome::withdrawn);
    EXPECT_TRUE(world.close());
}

}  // namespace
}  // namespace rollcall::test
