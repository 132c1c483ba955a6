// Tests the links of a cluster: their rate, a partition, a loss, and the silence of a host that has crashed.
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include "tests/cluster/harness.hpp"
#include "tests/cluster/sockets.hpp"

namespace rollcall::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

class ClusterLinks : public ClusterTest {};

/// Returns the rate at which bytes cross a link, in megabits per second, without the burst that an idle link carries at once. Load on this
/// machine can make the result smaller, but never greater than the rate of the link.
double measure_rate(const Cluster& cluster, const std::string& from, const std::string& to, std::size_t bytes) {
    constexpr std::size_t kBurst = 131072;
    const Pair pair = connect(cluster, from, to);
    const auto begin = Clock::now();
    std::thread sender([&] {
        const std::string data(bytes, 'x');
        for (std::size_t done = 0; done < bytes && is_ready(pair.here, POLLOUT, seconds(30));) {
            const ssize_t count = ::send(pair.here.get(), data.data() + done, bytes - done, MSG_NOSIGNAL);
            if (count < 0 && errno != EAGAIN) break;
            done += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
        }
    });
    std::vector<char> data(1 << 16);
    std::size_t received = 0;
    while (received < bytes && is_ready(pair.there, POLLIN, seconds(30))) {
        const ssize_t count = ::recv(pair.there.get(), data.data(), data.size(), 0);
        if (count <= 0) break;
        received += static_cast<std::size_t>(count);
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    sender.join();
    EXPECT_EQ(received, bytes);
    return static_cast<double>(bytes - kBurst) * 8e-6 / took.count();
}

/// Returns the limits of a link at its two ends: at the host and at the switch.
std::vector<std::string> limits(const Cluster& cluster, int number) {
    std::vector<std::string> found;
    for (const auto& [host, device] :
         {std::pair(fmt::format("node{}", number), std::string("eth0")), std::pair(std::string("head"), fmt::format("v{}", number))})
        found.push_back(cluster.exec(host, {"sh", "-c", "PATH=$PATH:/usr/sbin:/sbin tc qdisc show dev " + device}).out);
    return found;
}

TEST_F(ClusterLinks, LinksHaveTheirRateBothWays) {
    constexpr std::size_t kBytes = 3'000'000;
    Cluster cluster("2", {"--rate", "none"});
    // Uses a PATH without the directories of root's programs.
    const Result limited = run(cluster.words({"rate", "node1", "40mbit"}), {}, {"PATH=/usr/bin:/bin"});
    ASSERT_EQ(limited.code, 0) << limited.error;
    for (const std::string& limit : limits(cluster, 1)) EXPECT_NE(limit.find(" rate 40Mbit "), std::string::npos) << limit;
    for (const auto& [from, to] : {std::pair("node0", "node1"), std::pair("node1", "node0"), std::pair("head", "node1")})
        EXPECT_LT(measure_rate(cluster, from, to, kBytes), 1.05 * 40) << from << " to " << to;
    ASSERT_EQ(cluster.call({"rate", "node1", "none"}).code, 0);
    for (const std::string& limit : limits(cluster, 1)) EXPECT_EQ(limit.find(" rate "), std::string::npos) << limit;

    Cluster made_so("2", {"--rate", "40mbit"});
    for (const int number : {0, 1})
        for (const std::string& limit : limits(made_so, number)) EXPECT_NE(limit.find(" rate 40Mbit "), std::string::npos) << limit;
    EXPECT_LT(measure_rate(made_so, "node0", "head", kBytes), 1.05 * 40);
    EXPECT_LT(measure_rate(made_so, "head", "node1", kBytes), 1.05 * 40);
}

// The kernel's timers are no finer, so with less the link does not reach its rate.
TEST(ClusterRates, ABurstIsWhatALinkCarriesInAMillisecond) {
    const auto common = std::filesystem::path(ROLLCALL_CLUSTER_SCRIPT).parent_path() / "cluster-common.sh";
    for (const auto& [rate, burst] : {std::pair("64kbit", 131072), std::pair("100mbit", 131072), std::pair("1gbit", 131072),
                                      std::pair("2500mbit", 312500), std::pair("10000mbit", 1250000), std::pair("10gbit", 1250000)}) {
        const Result said = run({"bash", "-c", "source \"$0\"; shape_words eth0 \"$1\" 4m; echo \"${words[*]}\"", common.string(), rate});
        EXPECT_EQ(said.out, fmt::format("qdisc replace dev eth0 root tbf rate {} burst {} limit 4m\n", rate, burst)) << said.error;
    }
}

TEST_F(ClusterLinks, APartitionStopsAHostUntilItIsHealed) {
    Cluster cluster("3");
    const Pair pair = connect(cluster, "node0", "node1");
    int port = 0;
    const Socket listening = listener(cluster, "node1", port);
    ASSERT_EQ(cluster.call({"partition", "node1"}).code, 0);
    ASSERT_EQ(::send(pair.here.get(), "x", 1, MSG_NOSIGNAL), 1);
    EXPECT_LT(connection(cluster, "node0", "node1", port, milliseconds(300)).get(), 0);
    EXPECT_FALSE(is_ready(pair.there, POLLIN, milliseconds(100)));
    connect(cluster, "node0", "node2");
    ASSERT_EQ(cluster.call({"heal", "node1"}).code, 0);
    EXPECT_TRUE(is_ready(pair.there, POLLIN, seconds(30))) << "TCP sends it again";
    EXPECT_GE(connection(cluster, "node0", "node1", port).get(), 0);
}

TEST_F(ClusterLinks, ACrashIsSilent) {
    Cluster cluster("3");
    int port = 0;
    const Socket listening = listener(cluster, "node0", port);
    Command client(
        cluster.words({"exec", "node1", "bash", "-c", fmt::format("exec 3<>/dev/tcp/node0/{}; echo connected; exec sleep 1000", port)}));
    ASSERT_TRUE(client.wait_for("connected")) << client.finish().error;
    ASSERT_TRUE(is_ready(listening, POLLIN, seconds(10)));
    const Socket accepted(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_EQ(cluster.call({"crash", "node1"}).code, 0);
    EXPECT_EQ(client.finish().code, 128 + SIGKILL);
    EXPECT_FALSE(is_ready(accepted, POLLIN | POLLRDHUP, milliseconds(300))) << "nobody says good-bye";
    EXPECT_EQ(cluster.exec("node1", {"true"}).code, 255);
    EXPECT_EQ(cluster.exec("node2", {"true"}).code, 0);
    EXPECT_EQ(cluster.call({"crash", "node1"}).code, 255);
}

TEST_F(ClusterLinks, LossLosesWhatArrives) {
    if (run({"sh", "-c", "PATH=$PATH:/usr/sbin:/sbin command -v iptables"}).code != 0) GTEST_SKIP() << "the program iptables is missing";
    Cluster cluster("2");
    if (const Result lost = cluster.call({"loss", "node1", "100"}); lost.code != 0) GTEST_SKIP() << "iptables: " << lost.error;
    const auto arrive = [&](const char* host) {
        constexpr int kDatagrams = 1000;
        Socket receiver, sender;
        const sockaddr_in address = address_of(cluster, host, 4711);
        cluster.inside(host, CLONE_NEWNET, [&] { receiver.reset(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); });
        cluster.inside("node0", CLONE_NEWNET, [&] { sender.reset(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); });
        EXPECT_EQ(::bind(receiver.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        for (int i = 0; i < kDatagrams; ++i)
            ::sendto(sender.get(), &i, sizeof i, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address);
        int count = 0;
        for (int got = 0; ::recv(receiver.get(), &got, sizeof got, 0) > 0 || is_ready(receiver, POLLIN, milliseconds(50));) ++count;
        return count;
    };
    EXPECT_EQ(arrive("node1"), 0);
    ASSERT_EQ(cluster.call({"loss", "node1", "12.5"}).code, 0);
    // The bounds are 12 standard deviations on either side. More is sent than the buffer of a socket holds.
    const int some = arrive("node1");
    EXPECT_GT(some, 100);
    EXPECT_LT(some, 999);
    ASSERT_EQ(cluster.call({"loss", "node1", "0"}).code, 0);
    EXPECT_GE(arrive("node1"), some / 2);

    ASSERT_EQ(cluster.call({"loss", "head", "100"}).code, 0);
    EXPECT_EQ(arrive("head"), 0);
    ASSERT_EQ(cluster.call({"loss", "head", "0"}).code, 0);
    EXPECT_GT(arrive("head"), 0);
}

}  // namespace
}  // namespace rollcall::test
