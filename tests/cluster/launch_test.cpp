// Tests `rollcall run` over emulated hosts by real ssh: jobs whose ranks move data over limited links, an sshd that drops connections, and
// the error messages when a host cannot be reached.
#include "tests/cluster/harness.hpp"

#include <sched.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

namespace rollcall::test {
namespace {

class Launch : public ClusterTest {
  protected:
    void SetUp() override {
        ClusterTest::SetUp();
        if (IsSkipped()) return;
        files_ = std::filesystem::path(testing::TempDir()) / fmt::format("rollcall-launch-{}", ::getpid());
        std::filesystem::create_directories(files_);
    }
    void TearDown() override {
        if (!files_.empty()) std::filesystem::remove_all(files_);
    }

    /// Starts `rollcall run` on a host of the cluster.
    static Result launch(const Cluster& cluster, const std::string& host, const Words& words) {
        Words all = {ROLLCALL_COMMAND, "run"};
        all.insert(all.end(), words.begin(), words.end());
        return cluster.exec(host, all);
    }
    static std::string shell(const Cluster& cluster) { return fmt::format("ssh -F {}/ssh_config", cluster.state()); }

    std::filesystem::path files_;
};

TEST_F(Launch, AWordFromEachHost) {
    const Cluster cluster("4", {"--ssh"});
    for (const char* fanout : {"flat", "1", "2"}) {
        SCOPED_TRACE(fanout);
        const Result result = launch(cluster, "node0",
                                     {"--hosts", "node[0-3]:2", "--agent", shell(cluster), "--fanout", fanout, "--output-directory",
                                      files_.string(), "sh", "-c", "echo hello from $(hostname)"});
        EXPECT_EQ(result.code, 0);
        EXPECT_EQ(result.error, "");
        for (int rank = 0; rank < 8; ++rank) {
            EXPECT_EQ(contents(files_ / fmt::format("rank.{}.out", rank)), fmt::format("hello from node{}\n", rank / 2));
        }
    }
}

/// Without --agent, the host on which the command is started needs no ssh. The other hosts are reached by ssh.
TEST_F(Launch, SshIsTheDefault) {
    const Cluster cluster("3", {"--ssh"});
    const auto calls = files_ / "calls";
    std::ofstream(files_ / "ssh") << fmt::format("#!/bin/sh\necho called >>{}\nexec /usr/bin/ssh -F {}/ssh_config \"$@\"\n", calls.string(),
                                                 cluster.state());
    std::filesystem::permissions(files_ / "ssh", std::filesystem::perms::owner_all);
    const auto run_on = [&](const std::string& hosts) {
        std::filesystem::remove(calls);
        return cluster.exec("node0", {"env", fmt::format("PATH={}:{}", files_.string(), std::getenv("PATH")), ROLLCALL_COMMAND, "run",
                                      "--hosts", hosts, "--tag-output", "hostname"});
    };
    const Result result = run_on("node[0-2]");
    EXPECT_EQ(result.code, 0);
    for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(has(result.out, fmt::format("[{0}] node{0}\n", rank)));
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(contents(calls), "called\ncalled\n");

    const Result refused = run_on("node[0-1],nowhere");
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(refused.out, "");
    EXPECT_EQ(count(refused.error, "\n"), 1) << refused.error;
    EXPECT_TRUE(has(refused.error, "Could not resolve hostname nowhere"));
}

/// Returns the number of bytes that a host has received over its link.
long long received(const Cluster& cluster, const std::string& host) {
    return std::atoll(cluster.exec(host, {"cat", "/sys/class/net/eth0/statistics/rx_bytes"}).out.c_str());
}

TEST_F(Launch, RanksOfFourHostsMoveData) {
    const Cluster cluster("4", {"--ssh", "--rate", "1gbit"});
    const std::string storm = fmt::format("storm:50:{}", seed() % 1'000'000'000);
    for (const char* fanout : {"flat", "1"}) {
        SCOPED_TRACE(fanout);
        const auto before = received(cluster, "node3");
        const Result result = launch(
            cluster, "head",
            {"--hosts", "node[0-3]:2", "--agent", shell(cluster), "--fanout", fanout, "--timeout", "60s", ROLLCALL_TEST_RANKS,
             "describes_itself", "calls:broadcast:binomial", "calls:broadcast:scatter_allgather", storm, "splits", "hosts:4", "created"});
        EXPECT_EQ(result.code, 0) << result.out << result.error;
        for (int rank = 0; rank < 8; ++rank) EXPECT_TRUE(has(result.out, fmt::format("rank {} done\n", rank)));
        EXPECT_GT(received(cluster, "node3") - before, 1'000'000) << "it came over the link";
    }
}

/// Seven ranks hand over up to 16 blocks of 8 MiB each, to a root on another host that sleeps, with the budget that all jobs have.
TEST_F(Launch, RanksHandLongBlocksOverToARootThatSleeps) {
    const Cluster cluster("8", {"--ssh"});
    for (const std::string how : {"gather", "send"}) {
        SCOPED_TRACE(how);
        const auto shared = files_ / how;
        std::ofstream(shared).close();
        std::filesystem::resize_file(shared, 8192 * sizeof(std::uint64_t));
        const Result result =
            launch(cluster, "head",
                   {"--hosts", "node[0-7]", "--agent", shell(cluster), "--timeout", "60s", "--env",
                    "ROLLCALL_TEST_SHARED=" + shared.string(), ROLLCALL_TEST_RANKS, "many_wait_for_a_root:8192:16:128:" + how});
        EXPECT_EQ(result.code, 0) << result.out << result.error;
        for (int rank = 0; rank < 8; ++rank) EXPECT_TRUE(has(result.out, fmt::format("rank {} done\n", rank))) << result.out;
    }
}

/// libfabric's shared memory within a host, and its TCP between hosts.
TEST_F(Launch, RanksMoveDataByTwoProvidersOfOneJob) {
    const Cluster cluster("2", {"--ssh"});
    const auto job = [&](const Words& scenarios, const Words& options) {
        Words words = {"--hosts", "node[0-1]:2", "--agent", shell(cluster), "--timeout", "60s", "--env", "ROLLCALL_TRANSPORT=ofi"};
        words.insert(words.end(), options.begin(), options.end());
        words.push_back(ROLLCALL_TEST_RANKS);
        words.insert(words.end(), scenarios.begin(), scenarios.end());
        return launch(cluster, "head", words);
    };
    const std::string seed_word = std::to_string(seed() % 1'000'000'000);
    const auto before = received(cluster, "node1");
    const Result result = job({"uses:shm within a node, tcp:over eth0", "sizes", "order:100:" + seed_word, "many:200",
                               "storm:50:" + seed_word, "started", "splits", "hosts:2", "exchanges", "started_calls:allreduce"},
                              {});
    EXPECT_EQ(result.code, 0) << result.out << result.error;
    for (int rank = 0; rank < 4; ++rank) EXPECT_TRUE(has(result.out, fmt::format("rank {} done\n", rank))) << result.out;
    EXPECT_GT(received(cluster, "node1") - before, 1'000'000) << "it came over the link";

    // One survivor shares memory with the rank that dies, and two do not. The ranks note the time of the death in a file.
    const auto shared = files_ / "shared";
    std::ofstream(shared).close();
    std::filesystem::resize_file(shared, 4096);
    const Result death = job({"death:kill:3:messages:5000"}, {"--grace", "60s", "--env", "ROLLCALL_TEST_SHARED=" + shared.string()});
    EXPECT_EQ(death.code, 137) << death.out << death.error;
    EXPECT_EQ(count(death.out, " told after"), 3) << death.out << death.error;
    for (const char* host : {"node0", "node1"}) EXPECT_EQ(cluster.exec(host, {"ls", "/dev/shm"}).out, "") << host;
}

/// Containers of one kernel share one set of cores, whatever their host names are. What comes over TCP wakes a rank that sleeps.
TEST_F(Launch, HostsOfOneKernelShareItsCores) {
    const Cluster cluster("2", {"--ssh"});
    cpu_set_t usable;
    ASSERT_EQ(::sched_getaffinity(0, sizeof usable, &usable), 0);
    int core = 0;
    while (!CPU_ISSET(core, &usable)) ++core;
    for (const auto& [hosts, way] : {std::pair{"node0", "keeps its core while it waits"}, std::pair{"node[0-1]", "sleeps while it waits"},
                                     std::pair{"node[0-1]:2", "sleeps while it waits"}, std::pair{"node0:2", "yields while it waits"}}) {
        SCOPED_TRACE(hosts);
        const Result result = launch(cluster, "head",
                                     {"--hosts", hosts, "--agent", shell(cluster), "--timeout", "60s", "--env", "ROLLCALL_LOG=debug",
                                      "taskset", "--cpu-list", std::to_string(core), ROLLCALL_TEST_RANKS, "describes_itself"});
        EXPECT_EQ(result.code, 0) << result.out << result.error;
        EXPECT_TRUE(has(result.error, way)) << result.error;
    }
}

/// An sshd with default settings drops some of more than ten simultaneous connections. Here one job makes 32.
TEST_F(Launch, DroppedConnectionsAreTriedAgain) {
    constexpr int kAgents = 32;
    const Cluster cluster("1", {"--ssh-default-limits"});
    const auto tries = files_ / "tries";
    const std::string agent =
        fmt::format("sh -c 'echo try to $0 >>{}; exec ssh -F {}/ssh_config node0 \"$@\"' {{host}}", tries.string(), cluster.state());
    const Result result = launch(cluster, "head",
                                 {"--hosts", fmt::format("h[1-{}]", kAgents), "--agent", agent, "--fanout", "flat", ROLLCALL_LAUNCHER_PROBE,
                                  "exchange:100", "leave", "print:here"});
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(count(result.out, "\n"), kAgents);
    EXPECT_EQ(result.error, "") << "nobody need be told";
    EXPECT_GT(count(contents(tries), "\n"), kAgents) << "none was dropped";
}

TEST_F(Launch, AHostThatCannotBeHadIsOneSentence) {
    const Cluster cluster("3", {"--ssh"});
    const auto refused = [&](const std::string& hosts, const std::string& agent, int code, const std::string& sentence,
                             const char* limit = "30s") {
        SCOPED_TRACE(sentence);
        std::vector<std::unique_ptr<Command>> jobs;
        for (const char* fanout : {"flat", "1"})
            jobs.push_back(
                std::make_unique<Command>(cluster.words({"exec", "node0", ROLLCALL_COMMAND, "run", "--hosts", hosts, "--agent", agent,
                                                         "--fanout", fanout, "--launch-timeout", limit, "sh", "-c", "echo started"})));
        for (const auto& job : jobs) {
            const Result result = job->finish();
            EXPECT_EQ(result.code, code);
            EXPECT_EQ(count(result.error, "\n"), 1) << result.error;
            EXPECT_TRUE(has(result.error, sentence));
            EXPECT_EQ(result.out, "") << "no rank of a job starts that cannot start all";
        }
    };
    refused("node[0-1],nowhere", shell(cluster), 1, "ended with code 255: ssh: Could not resolve hostname nowhere");

    const auto key = files_ / "key";
    ASSERT_EQ(run({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key.string()}).code, 0);
    const std::string stranger =
        fmt::format("ssh -F /dev/null -i {} -o IdentitiesOnly=yes -o BatchMode=yes -o LogLevel=ERROR -o UserKnownHostsFile=", key.string());
    refused("node[0-2]", stranger + "/dev/null -o StrictHostKeyChecking=no", 1, "Permission denied (publickey)");
    refused("node[0-2]", stranger + "/dev/null -o StrictHostKeyChecking=yes", 1, "Host key verification failed");

    refused("node[0-2]", "no-such-shell", 1, "No such file or directory");
    ASSERT_EQ(cluster.call({"partition", "node2"}).code, 0);
    refused("node[0-2]", shell(cluster), 124, "host node2 has not answered within 3s", "3s");
}

/// Each host looks for the program itself.
TEST_F(Launch, AProgramThatAHostDoesNotHaveIsOneSentence) {
    const Cluster cluster("3", {"--ssh"});
    // Each host has a /run of its own.
    for (const char* host : {"node0", "node1"})
        ASSERT_EQ(cluster.exec(host, {"sh", "-c", "printf '#!/bin/sh\\necho started\\n' >/run/program; chmod +x /run/program"}).code, 0);
    for (const char* fanout : {"flat", "1"}) {
        const Result result =
            launch(cluster, "node0", {"--hosts", "node[0-2]", "--agent", shell(cluster), "--fanout", fanout, "/run/program"});
        EXPECT_EQ(result.code, 127);
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(count(result.error, "\n"), 1) << result.error;
        EXPECT_TRUE(has(result.error, "cannot start '/run/program' on host node2"));
    }
}

}  // namespace
}  // namespace rollcall::test
