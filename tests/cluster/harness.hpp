/// \file
/// For tests on several emulated hosts: makes clusters with cluster.sh, runs commands on their hosts, and checks that nothing
/// remains. Needs root; why a test cannot run here is what unavailable() says.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "tests/common.hpp"

namespace rollcall::test {

using Words = std::vector<std::string>;

/// How a command ended.
struct Result {
    int code = -1;  ///< 128 + n for signal n; -1: it had to be killed.
    std::string out;
    std::string error;
};

/// A command that runs. Its three standard streams are pipes. It is killed with this object.
class Command {
  public:
    explicit Command(const Words& words, const Words& environment = {});
    ~Command();
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    pid_t process() const { return process_; }
    void signal(int number) const;
    /// Until its output so far has this text so many times; false after the limit, or when the output has ended without it.
    bool wait_for(const std::string& text, std::chrono::milliseconds limit = std::chrono::seconds(30), int times = 1);
    /// What it has written, as far as that was read.
    const Result& so_far() const { return result_; }
    void end_input();
    /// Gives it the rest of its input, and waits for its end; after the limit it is killed.
    Result finish(const std::string& input = {}, std::chrono::milliseconds limit = std::chrono::seconds(60));

  private:
    /// Waits for something to read or to write, and does it. False when all is closed.
    bool turn(int milliseconds);

    pid_t process_ = -1;
    int in_ = -1, out_ = -1, error_ = -1;
    std::string input_;
    bool last_input_ = false;
    Result result_;
};

Result run(const Words& words, const std::string& input = {}, const Words& environment = {});

/// Why clusters cannot be made here; empty: they can.
const std::string& unavailable();

/// Expects that nothing is left of a cluster by this name, nor a process that had this entry in its environment.
void expect_gone(const std::string& name, const std::string& mark, const std::set<std::string>& namespaces = {});

/// A cluster with a name of its own. When the test's process ends, however, the cluster does.
class Cluster {
  public:
    /// \param hosts "3", or names as cluster.sh takes them.
    explicit Cluster(const std::string& hosts, const Words& options = {});
    /// Takes it down, and expects that nothing is left of it.
    ~Cluster();
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    const std::string& name() const { return name_; }
    /// The words of a command of cluster.sh for this cluster: ("exec", "node0", "true").
    Words words(const Words& command) const;
    Result call(const Words& command, const std::string& input = {}) const { return run(words(command), input); }
    Result exec(const std::string& host, const Words& command, const std::string& input = {}) const;
    /// One line of output of a command of cluster.sh that is expected to succeed.
    std::string line_of(const Words& command) const;
    pid_t process_of(const std::string& host) const;
    std::string state() const { return "/run/rollcall-cluster-" + name_; }
    /// The process that holds the cluster.
    Command& holder() { return *holder_; }
    /// Ends it. Later calls, and the destructor, only look for what is left.
    void down();

    /// Calls a function inside namespaces of a host: CLONE_NEWNET, CLONE_NEWIPC, or both. What it opens stays there.
    void inside(const std::string& host, int namespaces, const std::function<void()>& function) const;

  private:
    std::string name_, mark_;
    std::unique_ptr<Command> holder_;
    std::set<std::string> before_, namespaces_;
};

/// Tests on clusters: skipped, with the reason, where none can be made. A SetUp of theirs begins with this one, and returns if
/// IsSkipped().
class ClusterTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!unavailable().empty()) GTEST_SKIP() << unavailable();
    }
};

}  // namespace rollcall::test
