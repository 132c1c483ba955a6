/// \file
/// For tests on several emulated hosts. Makes clusters with cluster.sh, runs commands on their hosts, and checks that nothing remains.
/// Needs root. unavailable() says why a test cannot run here.
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
    int code = -1;  ///< 128 + n for signal n. -1: it had to be killed.
    std::string out;
    std::string error;
};

/// A running command. Its three standard streams are pipes. The destructor kills it.
class Command {
  public:
    explicit Command(const Words& words, const Words& environment = {});
    ~Command();
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    pid_t process() const { return process_; }
    void signal(int number) const;
    /// Waits until the output so far contains this text so many times. Returns false at the limit, or when the output ends without it.
    bool wait_for(const std::string& text, std::chrono::milliseconds limit = std::chrono::seconds(30), int times = 1);
    /// The output that has been read so far.
    const Result& so_far() const { return result_; }
    void end_input();
    /// Gives the command the rest of its input and waits for its end. Kills it at the limit.
    Result finish(const std::string& input = {}, std::chrono::milliseconds limit = std::chrono::seconds(60));

  private:
    /// Waits until something can be read or written, and does that. Returns false when all streams are closed.
    bool turn(int milliseconds);

    pid_t process_ = -1;
    int in_ = -1, out_ = -1, error_ = -1;
    std::string input_;
    bool last_input_ = false;
    Result result_;
};

Result run(const Words& words, const std::string& input = {}, const Words& environment = {});

/// Returns why clusters cannot be made here, or an empty string if they can.
const std::string& unavailable();

/// Expects that nothing is left of a cluster of this name, nor any process that had this entry in its environment.
void expect_gone(const std::string& name, const std::string& mark, const std::set<std::string>& namespaces = {});

/// A cluster with a name of its own. It ends with the test's process, however that ends.
class Cluster {
  public:
    /// \param hosts "3", or names as cluster.sh takes them.
    explicit Cluster(const std::string& hosts, const Words& options = {});
    /// Takes the cluster down and expects that nothing is left of it.
    ~Cluster();
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    const std::string& name() const { return name_; }
    /// Returns the words that run a command of cluster.sh for this cluster, for example ("exec", "node0", "true").
    Words words(const Words& command) const;
    Result call(const Words& command, const std::string& input = {}) const { return run(words(command), input); }
    Result exec(const std::string& host, const Words& command, const std::string& input = {}) const;
    /// Runs a command of cluster.sh, expects it to succeed, and returns its one line of output.
    std::string line_of(const Words& command) const;
    pid_t process_of(const std::string& host) const;
    std::string state() const { return "/run/rollcall-cluster-" + name_; }
    /// The process that holds the cluster.
    Command& holder() { return *holder_; }
    /// Ends the cluster. Later calls, and the destructor, only check for leftovers.
    void down();

    /// Calls a function inside namespaces of a host: CLONE_NEWNET, CLONE_NEWIPC, or both. Sockets and files that it opens stay there.
    void inside(const std::string& host, int namespaces, const std::function<void()>& function) const;

  private:
    std::string name_, mark_;
    std::unique_ptr<Command> holder_;
    std::set<std::string> before_, namespaces_;
};

/// The base of the tests on clusters. Where no cluster can be made, the tests are skipped, with the reason. An overriding SetUp calls this
/// one first, and returns if IsSkipped().
class ClusterTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!unavailable().empty()) GTEST_SKIP() << unavailable();
    }
};

}  // namespace rollcall::test
