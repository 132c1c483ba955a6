// Tests two running jobs on several emulated hosts that become connected. The scenarios are in tests/process/ranks/two_jobs.cpp.
#include <csignal>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "tests/cluster/harness.hpp"

namespace rollcall::test {
namespace {

class ConnectedJobs : public ClusterTest {
  protected:
    void TearDown() override {
        for (int i = 0; i < 2; ++i) std::filesystem::remove(invitation_ + std::to_string(i));
    }
    /// The words that run a part of a scenario on these hosts. The launcher runs on the host "head".
    Words job(const Cluster& cluster, const std::string& hosts, const std::string& part, const std::string& scenario,
              const std::string& words) const {
        return cluster.words({"exec", "head", ROLLCALL_COMMAND, "run", "--hosts", hosts, "--agent",
                              fmt::format("ssh -F {}/ssh_config", cluster.state()), "--timeout", "60s", "--grace", "30s",
                              ROLLCALL_TEST_RANKS, fmt::format("{}:{}:{}:{}", scenario, part, invitation_, words)});
    }
    /// Runs two jobs at the same time. The first one listens.
    std::pair<Result, Result> run_two(const Cluster& cluster, const std::string& listening, const std::string& connecting,
                                      const std::string& scenario, const std::string& words) const {
        Command listens(job(cluster, listening, "listens", scenario, words));
        Command connects(job(cluster, connecting, "connects", scenario, words));
        Result connected = connects.finish();
        return {listens.finish(), std::move(connected)};
    }
    static void expect_good(const Result& result, int ranks) {
        EXPECT_EQ(result.code, 0) << result.out << result.error;
        EXPECT_EQ(count(result.out, " done\n"), ranks) << result.out << result.error;
    }

    std::string invitation_ = fmt::format("{}rollcall-invitation-{}-", testing::TempDir(), ::getpid());
};

/// On hosts of their own, and on hosts of which they have one in common.
TEST_F(ConnectedJobs, ExchangeAllData) {
    const Cluster cluster("4", {"--ssh"});
    for (const auto& [listening, connecting] : {std::pair("node[0-1]:2", "node[2-3]"), std::pair("node[0-1]", "node[1-2]:2")}) {
        SCOPED_TRACE(fmt::format("{} and {}", listening, connecting));
        const auto [listens, connects] =
            run_two(cluster, listening, connecting, "two_jobs_exchange", std::to_string(seed() % 1'000'000'000));
        expect_good(listens, has(listening, ":2") ? 4 : 2);
        expect_good(connects, has(connecting, ":2") ? 4 : 2);
        TearDown();
    }
}

/// The rank that dies is alone on its host. (Another one might lead the ranks of its host, which would be lost with it.)
TEST_F(ConnectedJobs, TellAllOfADeathOnAnotherHost) {
    const Cluster cluster("3", {"--ssh"});
    const auto [listens, connects] = run_two(cluster, "node[0-1]", "node1:2,node2", "two_jobs_death", "connects:2");
    EXPECT_EQ(connects.code, 128 + SIGKILL) << connects.out << connects.error;
    EXPECT_EQ(count(connects.out, "was told of the death"), 2) << connects.out << connects.error;
    expect_good(listens, 2);
    EXPECT_EQ(count(listens.out, "was told of the death"), 2) << listens.out;
}

}  // namespace
}  // namespace rollcall::test
