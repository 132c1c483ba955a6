// Tests `rollcall bench --cluster`: it makes emulated hosts, runs ranks on them, and removes the hosts when it ends.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "tests/cluster/harness.hpp"

namespace rollcall::test {
namespace {

using Json = nlohmann::json;

class BenchCluster : public ClusterTest {
  protected:
    void SetUp() override {
        ClusterTest::SetUp();
        if (IsSkipped()) return;
        mark_ = fmt::format("BENCH_CLUSTER_TEST={}-{}", ::getpid(), testing::UnitTest::GetInstance()->current_test_info()->name());
    }

    static Words words(const std::string& line) {
        Words all = {ROLLCALL_COMMAND};
        std::istringstream in(line);
        for (std::string word; in >> word;) all.push_back(word);
        return all;
    }
    /// Runs the command to its end, and expects that nothing is left of the cluster afterwards.
    Result bench(const std::string& line) { return rollcall("bench " + line); }
    Result rollcall(const std::string& line) {
        Command command(words(line), {mark_});
        const std::string name = fmt::format("bench-{}", command.process());
        const Result result = command.finish();
        expect_gone(name, mark_);
        return result;
    }
    static std::vector<Json> cells(const Result& result) {
        std::vector<Json> all;
        std::istringstream in(result.out);
        for (std::string line; std::getline(in, line);) all.push_back(Json::parse(line));
        return all;
    }

    std::string mark_;
};

TEST_F(BenchCluster, MeasuresCollectivesBetweenHosts) {
    const auto raw = std::filesystem::path(testing::TempDir()) / fmt::format("bench-cluster-{}.csv", ::getpid());
    const Result result = bench(
        "broadcast --cluster 3 --rate 1gbit --bytes 1000,300Ki --arrival balanced,late:50%:1ms --algorithm linear,binomial"
        " --landing on,off --iterations 2 --warmup 1 --timeout 60s --format json --raw " +
        raw.string());
    ASSERT_EQ(result.code, 0) << result.error;
    const auto all = cells(result);
    EXPECT_EQ(all.size(), 2u * 2u * 2u * 2u);
    for (const Json& cell : all) EXPECT_EQ(cell["ranks"], 3);
    std::ifstream file(raw);
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    EXPECT_EQ(lines, 1 + 16 * 2 * 3);
    std::filesystem::remove(raw);
}

TEST_F(BenchCluster, TuneMeasuresTheNetworkToo) {
    const auto path = std::filesystem::path(testing::TempDir()) / fmt::format("costs-{}", ::getpid());
    const Result result = rollcall("tune --cluster 2 --ranks 4 --rate 1gbit --timeout 60s --format json --file " + path.string());
    ASSERT_EQ(result.code, 0) << result.error;
    std::map<std::string, double> now;
    for (const Json& cell : cells(result)) now[cell["cost"].get<std::string>()] = cell["now"].get<double>();
    for (const char* path_of_message : {"network", "node"})
        for (const char* part : {"latency", "gap", "mebibyte"})
            EXPECT_EQ(now.count(fmt::format("{}_{}", path_of_message, part)), 1u) << result.out << result.error;
    EXPECT_GT(now["network_mebibyte"], 7e-3) << "1 MiB takes 8.4 ms at 1 Gbit/s";
    EXPECT_LT(now["node_mebibyte"], now["network_mebibyte"]);
    EXPECT_TRUE(std::filesystem::exists(path));
    std::filesystem::remove(path);
}

TEST_F(BenchCluster, HostsTakeSeveralRanksAndOneJobMayPrintItself) {
    const Result gather =
        bench("gather --cluster 2 --ranks 3 --bytes 30000 --algorithm linear --iterations 2 --warmup 0 --timeout 60s --format json");
    ASSERT_EQ(gather.code, 0) << gather.error;
    ASSERT_EQ(cells(gather).size(), 1u);
    EXPECT_EQ(cells(gather)[0]["ranks"], 3);
    // Rank 1 is on the root's host, where a block takes a tenth of a millisecond. T is the time of a block between hosts.
    const Result far = bench(
        "gather --cluster 2 --ranks 3 --rate 1gbit --bytes 3Mi --algorithm linear --iterations 1 --warmup 0 --timeout 60s --format json");
    ASSERT_EQ(far.code, 0) << far.error;
    EXPECT_GT(cells(far).at(0)["message_time"]["median"], 5e-3) << "1 MiB takes 8.4 ms at 1 Gbit/s";
    const Result idle = bench("idle --cluster 2 --duration 20ms --timeout 60s --format json");
    EXPECT_EQ(idle.code, 0) << idle.error;
}

TEST_F(BenchCluster, TheRateOfLinksIsNotExceeded) {
    const Result result = bench("pingpong --cluster 2 --rate 100mbit --bytes 1Mi --iterations 2 --rounds 1 --timeout 60s --format json");
    ASSERT_EQ(result.code, 0) << result.error;
    const double seconds = cells(result).at(0)["run_time"]["median"];
    constexpr int kBurst = 1 << 17;  // The bytes that an idle link carries at once.
    EXPECT_LT(((1 << 20) - kBurst) * 8e-6 / seconds, 1.05 * 100);

    // Two pairs and two directions use four links, each of which carries 16 * 64 KiB in a window.
    const Result pairs = bench(
        "bandwidth --cluster 4 --rate 100mbit --bytes 64Ki --window 16 --both-ways --iterations 2 --rounds 1"
        " --timeout 60s --format json");
    ASSERT_EQ(pairs.code, 0) << pairs.error;
    const Json row = cells(pairs).at(0);
    EXPECT_EQ(row["pairs"], "2");
    EXPECT_LT(row["bandwidth"]["median"].get<double>() * 8e-6 * ((1 << 20) - kBurst) / (1 << 20), 1.05 * 4 * 100);
}

TEST_F(BenchCluster, PeersRunOnTheSameHosts) {
    const auto directory = std::filesystem::path(ROLLCALL_COMMAND).parent_path() / "peers";
    std::string there;
    for (const char* peer : {"openmpi", "mpich"})
        if (std::filesystem::exists(directory / fmt::format("barrier-{}", peer))) there += (there.empty() ? "" : ",") + std::string(peer);
    if (there.empty()) GTEST_SKIP() << "no MPI library to compare with was there when the peers were built";
    const Result result =
        bench("barrier --cluster 3 --rate 1gbit --batch 10 --iterations 2 --rounds 2 --timeout 60s --format json --peer " + there);
    ASSERT_EQ(result.code, 0) << result.error;
    const auto all = cells(result);
    EXPECT_EQ(all.size(), there.find(',') == std::string::npos ? 2u : 3u);
    for (const Json& cell : all) {
        EXPECT_EQ(cell["ranks"], 3);
        // The barrier must have crossed hosts: through shared memory it would take only a few microseconds.
        EXPECT_GT(cell["run_time"]["median"].get<double>(), 20e-6);
    }
    // A collective operation has its delays there, too.
    const Result gather = bench(
        "gather --cluster 3 --rate 1gbit --bytes 30000 --arrival last:1:5ms --algorithm linear --iterations 2 "
        "--rounds 1 --timeout 60s --format json --peer " +
        there);
    ASSERT_EQ(gather.code, 0) << gather.error;
    EXPECT_EQ(cells(gather).size(), all.size());
    for (const Json& cell : cells(gather)) EXPECT_GT(cell["spread"]["median"].get<double>(), 2e-3);
}

TEST_F(BenchCluster, WhateverEndsItEndsTheCluster) {
    const std::string line = "bench gather --cluster 3 --ssh-is-no-option";
    EXPECT_EQ(run(words(line)).code, 2);
    for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
        for (const char* moment : {"watch", "samples"}) {
            SCOPED_TRACE(fmt::format("signal {} when there is {}", signal, moment));
            Command command(
                words("bench gather --cluster 3 --bytes 1000 --algorithm linear --landing on,off --iterations 100000 --timeout 60s"),
                {mark_});
            const std::string name = fmt::format("bench-{}", command.process());
            ASSERT_TRUE(eventually([&] { return std::filesystem::exists(fmt::format("/run/rollcall-cluster-{}/{}", name, moment)); },
                                   std::chrono::seconds(30)));
            command.signal(signal);
            EXPECT_EQ(command.finish().code, 128 + signal);
            expect_gone(name, mark_);
        }
    }
}

TEST_F(BenchCluster, WrongUsageIsRefused) {
    const std::map<std::string, std::string> refusals = {
        {"bench barrier --rate 1gbit", "--rate without --cluster"},
        {"bench barrier --cluster 2 --rate 0gbit", "--rate: '0gbit' is not a rate"},
        {"bench barrier --cluster 0", "1 to 1000"},
        {"bench barrier --cluster 2 --rate fast", "--rate: 'fast' is not a rate; allowed: none"},
        {"bench pingpong --cluster 2 --raw-ucx", "--raw-ucx with --cluster"},
        {"run -n 2 " ROLLCALL_COMMAND " bench barrier --cluster 2", "--cluster in a job that is already running"}};
    for (const auto& [line, part] : refusals) {
        const Result refused = run(words(line));
        EXPECT_EQ(refused.code, 2) << line;
        EXPECT_NE(refused.error.find(part), std::string::npos) << refused.error;
    }
}

}  // namespace
}  // namespace rollcall::test
