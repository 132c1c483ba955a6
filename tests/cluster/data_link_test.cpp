// The link between two hosts fails for data only: the launcher still reaches both hosts. Tests that ranks which wait for each other are
// told of it.
#include <fmt/format.h>

#include "tests/cluster/harness.hpp"

namespace rollcall::test {
namespace {

class DataLink : public ClusterTest {
  protected:
    /// Starts one rank on each of two hosts, from the head. Nothing else is sent between the two hosts.
    static Words job(const Cluster& cluster, const std::string& silence, const std::string& scenario) {
        return cluster.words({"exec", "head", ROLLCALL_COMMAND, "run", "--hosts", "node[0-1]", "--agent",
                              fmt::format("ssh -F {}/ssh_config", cluster.state()), "--timeout", "40s", "--env",
                              fmt::format("ROLLCALL_SILENCE={}", silence), ROLLCALL_TEST_RANKS, scenario});
    }
    static void expect_success(const Result& result) {
        EXPECT_EQ(result.code, 0) << result.out << result.error;
        for (int rank = 0; rank < 2; ++rank) EXPECT_TRUE(has(result.out, fmt::format("rank {} done\n", rank))) << result.error;
    }
};

TEST_F(DataLink, ThatGoesDownIsToldToWhoWaitsForIt) {
    for (const std::string how : {"receive", "barrier", "send"}) {
        SCOPED_TRACE(how);
        Cluster cluster("2", {"--ssh"});
        Command command(job(cluster, "2s", "waits_over_a_dead_link:" + how));
        ASSERT_TRUE(command.wait_for(" waits\n", std::chrono::seconds(30), 2)) << command.so_far().out << command.so_far().error;
        for (const auto& [here, there] : {std::pair("node0", "node1"), std::pair("node1", "node0")}) {
            const std::string drop = fmt::format("PATH=$PATH:/usr/sbin:/sbin iptables --append INPUT --source {} --jump DROP",
                                                 cluster.line_of({"address", there}));
            const Result dropped = cluster.exec(here, {"sh", "-c", drop});
            if (dropped.code == 127) GTEST_SKIP() << "iptables is not there";
            ASSERT_EQ(dropped.code, 0) << dropped.error;
        }
        const Result result = command.finish();
        expect_success(result);
        EXPECT_TRUE(has(result.out, " has not answered over the network (")) << result.out;
    }
}

// A stopped rank does not answer, but its host answers for it. So the link is not blamed.
TEST_F(DataLink, IsNotBlamedForARankThatIsStopped) {
    const Cluster cluster("2", {"--ssh"});
    expect_success(run(job(cluster, "1s", "waits_for_a_stopped_rank:2500")));
}

}  // namespace
}  // namespace rollcall::test
