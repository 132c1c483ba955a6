/// \file
/// Tests where `rollcall run` binds ranks when it is not told. Other jobs of this machine claim cores, too. So these
/// tests, and what they start, have claims of their own: they run in a time namespace of their own.
#include <linux/sched.h>
#include <sched.h>

#include "runtime/topology/binding.hpp"
#include "tests/process/launcher/launched.hpp"

namespace {

using namespace rollcall::test;
using rollcall::runtime::Cpus;

/// Writes the CPUs of this rank.
const std::string kCpus = "taskset -cp $$ | sed 's/.*: //'";

class Binding : public testing::Test {
  protected:
    void SetUp() override {
        // For the processes that this one starts from now on. It must not start threads any more.
        static const bool is_apart = ::unshare(CLONE_NEWTIME) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWTIME) == 0;
        if (!is_apart) GTEST_SKIP() << "this process may not make a time namespace";
        mine_ = rollcall::runtime::cpus_of();
        std::set<Cpus> cores;
        for (const int cpu : mine_) cores.insert(rollcall::runtime::cpus_of_core(cpu));
        cores_ = static_cast<int>(cores.size());
        if (cores_ < 2) GTEST_SKIP() << "two ranks cannot have a core each";
    }

    static std::vector<Cpus> cpus_in(const std::string& output) {
        std::vector<Cpus> all;
        for (const auto& line : lines_of(output)) all.push_back(rollcall::runtime::parse_cpus(line));
        return all;
    }
    static Words ranks(int count, const Words& options, const std::string& script) {
        Words words{"-n", std::to_string(count)};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"sh", "-c", script});
        return words;
    }
    /// Runs two ranks, which are to be bound to all CPUs together, and to none that both may use.
    void expect_bound() const {
        const Result result = run(ranks(2, {}, kCpus));
        EXPECT_EQ(result.error, "");
        Cpus together;
        for (const Cpus& cpus : cpus_in(result.out)) together.insert(together.end(), cpus.begin(), cpus.end());
        std::sort(together.begin(), together.end());
        EXPECT_EQ(together, mine_);
    }
    /// Runs ranks, which are not to be bound, and to say why if asked.
    void expect_unbound(int count, const std::string& why) const {
        const Result result = run(ranks(count, {"--display-map"}, kCpus));
        EXPECT_EQ(cpus_in(result.out), std::vector<Cpus>(static_cast<std::size_t>(count), mine_));
        EXPECT_TRUE(has(result.error, "not bound: " + why)) << result.error;
        EXPECT_EQ(run(ranks(count, {}, kCpus)).error, "");
    }

    Cpus mine_;
    int cores_ = 0;
};

TEST_F(Binding, DividesTheCoresAmongTheRanks) {
    expect_bound();
    expect_bound();
}

TEST_F(Binding, LeavesRanksAloneThatDoNotFit) { expect_unbound(static_cast<int>(mine_.size()) + 1, "there are more ranks than cores"); }

TEST_F(Binding, LeavesASingleRankAlone) { expect_unbound(1, "it is the only rank of this host"); }

TEST_F(Binding, DoesAsItIsTold) {
    EXPECT_EQ(cpus_in(run(ranks(2, {"--bind-to", "none"}, kCpus)).out), std::vector<Cpus>(2, mine_));
    EXPECT_EQ(cpus_in(run(ranks(2, {"--bind-to", "auto", "--map-by", "numa"}, kCpus)).out).size(), 2u);
}

TEST_F(Binding, LeavesTheCoresOfAnotherJobAlone) {
    const std::string taken = "other jobs have CPUs " + rollcall::runtime::format_cpus(mine_);
    for (const char* const bind : {"auto", "core"}) {
        SCOPED_TRACE(bind);
        Launched other(ranks(bind == std::string("auto") ? 2 : cores_, {"--bind-to", bind}, "echo ready; exec sleep 1000"));
        ASSERT_TRUE(other.saw("ready", 2));
        expect_unbound(2, taken);
        // It is told to, and not refused.
        EXPECT_EQ(cpus_in(run(ranks(1, {"--bind-to", "core"}, kCpus)).out).size(), 1u);
        other.signal(SIGTERM);
        other.finish();
        expect_bound();
    }
}

TEST_F(Binding, ClaimsEndWhenAnyProcessOfTheLauncherIsKilled) {
    for (const bool guard : {false, true}) {
        SCOPED_TRACE(guard);
        Launched other(ranks(2, {}, "echo ready; exec sleep 1000"));
        ASSERT_TRUE(other.saw("ready", 2));
        if (guard)
            other.signal_guard(SIGKILL);
        else
            other.signal(SIGKILL);
        other.finish();
        ASSERT_TRUE(eventually([&] { return other.left().empty(); }));
        expect_bound();
    }
}

/// Emulated hosts of one kernel have the same cores.
TEST_F(Binding, GivesNoCoreToRanksOfTwoHosts) {
    const Result result = run({"--hosts", "a:2,b:2", "--agent", "sh -c '\"$@\"' {host}", "sh", "-c", kCpus + "; sleep 0.2"});
    EXPECT_EQ(result.error, "");
    std::vector<Cpus> bound = cpus_in(result.out);
    ASSERT_EQ(bound.size(), 4u);
    std::erase(bound, mine_);
    EXPECT_LE(bound.size(), 2u) << result.out;
    std::set<int> together;
    for (const Cpus& cpus : bound) {
        for (const int cpu : cpus) EXPECT_TRUE(together.insert(cpu).second) << "two ranks are bound to CPU " << cpu;
    }
}

}  // namespace
