/// \file
/// Ranks on several hosts find each other by themselves, by the variables of torchrun or by a shared directory. Tests this, and what the
/// ranks are told when a rank, a host or a link is lost.
#include "tests/cluster/harness.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace rollcall::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr int kHosts = 3;
constexpr int kEach = 2;
constexpr int kAllRanks = kHosts * kEach;

class RendezvousOfHosts : public ClusterTest {
  protected:
    void SetUp() override {
        ClusterTest::SetUp();
        if (IsSkipped()) return;
        directory_ = fs::path(testing::TempDir()) / fmt::format("rollcall-hosts-{}", ::getpid());
        fs::create_directory(directory_);
        cluster_ = std::make_unique<Cluster>(std::to_string(kHosts));
    }
    void TearDown() override {
        ranks_.clear();
        cluster_.reset();
        fs::remove_all(directory_);
    }

    static std::string host_of(int rank) { return fmt::format("node{}", rank / kEach); }

    /// Starts the ranks one after the other, the last host first, so that rank 0 comes last.
    void start(const Words& scenarios, const Words& place, const std::string& rank_variable) {
        ranks_.resize(kAllRanks);
        for (int rank = kAllRanks - 1; rank >= 0; --rank) {
            Words words{
                "exec", host_of(rank), "env", "ROLLCALL_SILENCE=2s", "ROLLCALL_HEARTBEAT=500ms", fmt::format("{}={}", rank_variable, rank)};
            words.insert(words.end(), place.begin(), place.end());
            words.push_back(ROLLCALL_TEST_RANKS);
            words.insert(words.end(), scenarios.begin(), scenarios.end());
            ranks_[static_cast<std::size_t>(rank)] = std::make_unique<Command>(cluster_->words(words));
        }
    }
    Command& rank(int number) { return *ranks_[static_cast<std::size_t>(number)]; }
    void start_by_torchrun(const Words& scenarios) {
        start(scenarios,
              {"MASTER_ADDR=node0", "MASTER_PORT=29500", fmt::format("WORLD_SIZE={}", kAllRanks),
               "ROLLCALL_KEY_FILE=" + (directory_ / "key").string()},
              "RANK");
    }
    void expect_success() {
        for (int number = 0; number < kAllRanks; ++number) {
            const Result result = rank(number).finish();
            EXPECT_EQ(result.code, 0) << "rank " << number << ": " << result.out << result.error;
            EXPECT_NE(result.out.find(" done\n"), std::string::npos) << result.out;
        }
    }
    /// Expects that each of these ranks ends and reports an error whose text names `who`.
    void expect_told(const std::vector<int>& ranks, const std::string& who) {
        for (const int number : ranks) {
            const Result result = rank(number).finish();
            EXPECT_EQ(result.code, 0) << "rank " << number << ": " << result.out << result.error;
            EXPECT_NE(result.out.find("told: "), std::string::npos) << "rank " << number << ": " << result.out;
            EXPECT_NE(result.out.find(who), std::string::npos) << "rank " << number << ": " << result.out;
        }
    }
    void wait_until_all_wait() {
        for (int number = 0; number < kAllRanks; ++number) ASSERT_TRUE(rank(number).wait_for("waits\n")) << "rank " << number;
    }

    fs::path directory_;
    std::unique_ptr<Cluster> cluster_;
    std::vector<std::unique_ptr<Command>> ranks_;
};

TEST_F(RendezvousOfHosts, ByTorchrunsVariables) {
    start_by_torchrun({fmt::format("is_whole:{}:a launcher like torchrun", kAllRanks), "splits"});
    expect_success();
}

TEST_F(RendezvousOfHosts, ByADirectory) {
    start({fmt::format("is_whole:{}:a rendezvous directory", kAllRanks), "splits"},
          {"ROLLCALL_RENDEZVOUS=" + directory_.string(), fmt::format("ROLLCALL_SIZE={}", kAllRanks)}, "ROLLCALL_RANK");
    expect_success();
    EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(RendezvousOfHosts, HearOfARankThatDies) {
    start_by_torchrun({"waits_for:4:kill"});
    wait_until_all_wait();
    EXPECT_EQ(rank(4).finish().code, 128 + 9);
    // If the victim led its host, the other rank of that host is lost as well.
    expect_told({0, 1, 2, 3, 5}, "rank 4 on host node2");
}

TEST_F(RendezvousOfHosts, HearOfAHostThatCrashes) {
    start_by_torchrun({"waits_for:4"});
    wait_until_all_wait();
    EXPECT_EQ(cluster_->call({"crash", "node2"}).code, 0);
    expect_told({0, 1, 2, 3}, "rank 4 on host node2 is lost");
}

TEST_F(RendezvousOfHosts, OnBothSidesHearOfALinkThatIsDown) {
    start_by_torchrun({"waits_for:4"});
    wait_until_all_wait();
    EXPECT_EQ(cluster_->call({"partition", "node2"}).code, 0);
    expect_told({0, 1, 2, 3}, "rank 4 on host node2 is lost");
    expect_told({4, 5}, "rank 0");
}

TEST_F(RendezvousOfHosts, HearOfTheHostWhereTheyMeet) {
    start_by_torchrun({"waits_for:0"});
    wait_until_all_wait();
    EXPECT_EQ(cluster_->call({"crash", "node0"}).code, 0);
    expect_told({2, 3, 4, 5}, "rank 0 on host node0");
}

}  // namespace
}  // namespace rollcall::test
