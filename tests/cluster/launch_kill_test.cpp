// The kill matrix over real ssh and separate hosts. Any part of a job is killed, told to end, stopped or cut off. Tests that nothing of the
// job is left on any host, and that the exit code is that of the first failure. There are three hosts with two ranks each. Every rank has a
// grandchild in a session of its own and a file in /dev/shm. The test prints what it saw and how long that took.
#include "tests/cluster/harness.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "tests/sanitizers.hpp"

namespace rollcall::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// The longest wait of a cell. Only a failing cell waits that long.
constexpr auto kLimit = seconds(30);
constexpr int kAtOnce = 4;
constexpr int kRanks = 6;
constexpr int kVictimRank = 3;  // On the second host. In a tree of width 1, the third host is below it.

enum class Victim { command, command_guard, agent, agent_guard, ssh, rank, host, link };
const char* const kVictimNames[] = {"command", "command's guard", "agent", "agent's guard", "ssh", "rank", "host", "link"};
const char* name(Victim victim) { return kVictimNames[static_cast<int>(victim)]; }

struct Cell {
    Victim victim;
    int signal;
    /// The exit code of the job. 0: the victim does not matter to the job, which runs to its end.
    int code;
    const char* fanout = "";
};

std::string process_namespace(pid_t process) {
    std::error_code gone;
    return std::filesystem::read_symlink(fmt::format("/proc/{}/ns/pid", process), gone).string();
}

struct Process {
    pid_t id = 0;
    std::string name;
    Words words;
    std::string where;  ///< Its process namespace.
};

/// Returns all living processes, in whatever namespace they are.
std::vector<Process> living() {
    std::vector<Process> all;
    for (const pid_t id : processes()) {
        const std::string directory = fmt::format("/proc/{}", id);
        Process one;
        one.id = id;
        one.where = process_namespace(one.id);
        const std::string status = contents(directory + "/status");
        if (one.where.empty() || status.find("State:\tZ") != std::string::npos) continue;
        one.name = contents(directory + "/comm");
        if (!one.name.empty()) one.name.pop_back();
        std::istringstream words(contents(directory + "/cmdline"));
        for (std::string word; std::getline(words, word, '\0');) one.words.push_back(word);
        all.push_back(std::move(one));
    }
    return all;
}

/// Returns the number of a process inside its own namespace.
pid_t inner_id(pid_t process) {
    std::istringstream status(contents(fmt::format("/proc/{}/status", process)));
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("NSpid:")) return std::atoi(line.substr(line.find_last_of(" \t") + 1).c_str());
    return 0;
}

/// One job of the matrix. It runs on three hosts that no other job uses meanwhile.
class Job {
  public:
    Job(const Cluster& cluster, const Cell& cell, int place) : cluster_(cluster), cell_(cell) {
        static int number = 0;
        const std::string id = fmt::format("{}-{}", ::getpid(), ++number);
        go_ = fmt::format("{}/rollcall-launch-go-{}", testing::TempDir(), id);
        mark_ = "ROLLCALL_LAUNCH_TEST=" + id;
        for (const char* host : {"a", "b", "c"}) {
            hosts_.push_back(fmt::format("{}{}", host, place));
            namespaces_.push_back(process_namespace(cluster.process_of(hosts_.back())));
        }
        // A short silence limit is set only where silence is the way to notice the failure.
        const char* const silence = cell.code != 125 ? "20s" : kSanitized ? "3s" : "1s";
        Words words = cluster.words({"exec", "head", ROLLCALL_COMMAND, "run", "--hosts", fmt::format("{}:2", fmt::join(hosts_, ":2,")),
                                     "--agent", fmt::format("ssh -F {}/ssh_config", cluster.state()), "--fanout", cell.fanout, "--grace",
                                     "200ms", "--silence", silence, ROLLCALL_LAUNCHER_PROBE, "orphan"});
        // A job that ends well keeps its files. If an agent's guard is killed or stopped some moments after a file appeared, its front may
        // not know of that file yet.
        has_files_ = cell.code != 0 && cell.victim != Victim::agent_guard && cell.victim != Victim::command_guard;
        if (has_files_)
            for (int rank = 0; rank < kRanks; ++rank) words.push_back(fmt::format("shm:/rollcall-launch-{}-{}@{}", id, rank, rank));
        words.insert(words.end(), {"barrier", "ready", "await:" + go_, "barrier", "leave"});
        command_ = std::make_unique<Command>(words, Words{mark_});
    }
    ~Job() { ::unlink(go_.c_str()); }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    bool is_ready() { return command_->wait_for(" ready\n", kLimit, kRanks); }

    void strike() {
        // On each host there are two processes of an agent, and two for each rank: the rank and its grandchild.
        EXPECT_GE(left().size(), 3u * 2 + kRanks * 2 + (has_files_ ? kRanks : 0)) << "what is looked for is there";
        const std::string& host = hosts_[1];
        if (cell_.victim == Victim::host || cell_.victim == Victim::link) {
            begin_ = Clock::now();
            ASSERT_EQ(cluster_.call({cell_.victim == Victim::host ? "crash" : "partition", host}).code, 0);
            return;
        }
        victim_ = find();
        ASSERT_GT(victim_, 1) << name(cell_.victim);
        begin_ = Clock::now();
        ::kill(victim_, cell_.signal);
        if (cell_.code == 0) std::ofstream(go_) << "go";
    }

    void check() {
        const Result result = command_->finish({}, kLimit);
        const auto ended = Clock::now();
        const std::string what = fmt::format("{:15} {:9} {:4} code {:3}", name(cell_.victim),
                                             cell_.victim == Victim::host   ? "crash"
                                             : cell_.victim == Victim::link ? "partition"
                                                                            : ::sigabbrev_np(cell_.signal),
                                             cell_.fanout, result.code);
        EXPECT_EQ(result.code, cell_.code) << what << "\n" << result.error;
        if (cell_.victim == Victim::rank) {
            const std::string named = fmt::format("rank {} on host {} was killed by signal", kVictimRank, hosts_[1]);
            EXPECT_NE(result.error.find(named), std::string::npos) << what << "\n" << result.error;
        }
        EXPECT_TRUE(eventually([this] { return left().empty(); }, kLimit)) << what << ", left: " << fmt::format("{}", left());
        const auto gone = Clock::now();
        if (cell_.victim == Victim::link) {
            EXPECT_EQ(cluster_.call({"heal", hosts_[1]}).code, 0);
        }
        // The connections of a crashed host to the others are not closed, so an sshd there may still wait.
        if (cell_.victim != Victim::host) {
            EXPECT_TRUE(eventually([this] { return left(true).empty(); }, kLimit)) << what << ", left: " << fmt::format("{}", left(true));
        }
        fmt::print("{}  ended after {:5} ms, all gone after {:5} ms\n", what,
                   std::chrono::duration_cast<milliseconds>(ended - begin_).count(),
                   std::chrono::duration_cast<milliseconds>(gone - begin_).count());
        if (testing::Test::HasFailure()) fmt::print("{}\n", result.error);
    }

  private:
    pid_t find() const {
        const pid_t front = command_->process();
        if (cell_.victim == Victim::command) return front;
        const std::string inner = fmt::format(" of {} pid ", kRanks);
        const std::string said = fmt::format("rank {}{}", kVictimRank, inner);
        const std::string& out = command_->so_far().out;
        const pid_t rank = std::atoi(out.substr(out.find(said) + said.size()).c_str());
        for (const Process& process : living()) {
            const bool is_here = process.where == namespaces_[1];
            const bool is_agent = is_here && process.words.size() == 2 && process.words[1] == "agent";
            const bool is_guard = process.name == "rollcall-guard";
            bool is_it = false;
            switch (cell_.victim) {
                case Victim::command_guard: is_it = is_guard && has_entry(process.id, mark_); break;
                case Victim::agent: is_it = is_agent && !is_guard; break;
                case Victim::agent_guard: is_it = is_agent && is_guard; break;
                case Victim::rank: is_it = is_here && inner_id(process.id) == rank; break;
                default:
                    is_it = process.name == "ssh" &&
                            std::find(process.words.begin(), process.words.end(), hosts_[1]) != process.words.end() &&
                            process.words[2] == cluster_.state() + "/ssh_config";
            }
            if (is_it) return process.id;
        }
        return -1;
    }

    /// Returns what is left of the job: processes on the three hosts besides the first process and sshd, processes of the job elsewhere,
    /// and files.
    Words left(bool sessions = false) const {
        Words found;
        for (const Process& process : living()) {
            const auto at = std::find(namespaces_.begin(), namespaces_.end(), process.where);
            bool is_left = false;
            if (at == namespaces_.end()) {
                is_left = process.id != ::getpid() && has_entry(process.id, mark_);
            } else if (process.name.starts_with("sshd")) {  // also sshd-session, from OpenSSH 9.8 on
                is_left = sessions && !process.words.empty() && process.words[0].find("[listener]") == std::string::npos;
            } else {
                is_left = inner_id(process.id) != 1;
            }
            if (is_left) found.push_back(fmt::format("{} {} {}", process.id, process.name, fmt::join(process.words, " ")));
        }
        for (const std::string& host : hosts_) {
            std::error_code crashed;
            for (const auto& entry :
                 std::filesystem::directory_iterator(fmt::format("/proc/{}/root/dev/shm", cluster_.process_of(host)), crashed))
                found.push_back(fmt::format("{} on {}", entry.path().filename().string(), host));
        }
        return found;
    }

    const Cluster& cluster_;
    Cell cell_;
    std::string go_, mark_;
    bool has_files_ = false;
    Words hosts_, namespaces_;
    std::unique_ptr<Command> command_;
    pid_t victim_ = -1;
    Clock::time_point begin_;
};

class LaunchKill : public ClusterTest {
  protected:
    /// Runs some cells at a time, because they spend most of their time waiting.
    static void run_cells(const std::vector<Cell>& cells) {
        std::vector<Cell> all;
        for (Cell cell : cells)
            for (const char* fanout : {"flat", "1"}) {
                cell.fanout = fanout;
                all.push_back(cell);
            }
        Words names;
        for (int place = 0; place < kAtOnce; ++place)
            for (const char* host : {"a", "b", "c"}) names.push_back(fmt::format("{}{}", host, place));
        const Cluster cluster(fmt::format("{}", fmt::join(names, ",")), {"--ssh"});
        for (std::size_t begin = 0; begin < all.size(); begin += kAtOnce) {
            std::vector<std::unique_ptr<Job>> jobs;
            for (std::size_t i = begin; i < std::min(begin + kAtOnce, all.size()); ++i)
                jobs.push_back(std::make_unique<Job>(cluster, all[i], static_cast<int>(i - begin)));
            for (const auto& job : jobs) ASSERT_TRUE(job->is_ready());
            for (const auto& job : jobs) job->strike();
            for (const auto& job : jobs) job->check();
        }
    }
};

constexpr int kGoesOn = 0;

TEST_F(LaunchKill, SecureShells) {
    // ssh has its own exit code for an end by SIGTERM.
    run_cells({{Victim::ssh, SIGKILL, 137}, {Victim::ssh, SIGTERM, 125}, {Victim::ssh, SIGSTOP, 125}});
}

TEST_F(LaunchKill, Agents) {
    // A stopped agent is no failure as long as its guard runs.
    run_cells({{Victim::agent, SIGKILL, 137}, {Victim::agent, SIGTERM, 143}, {Victim::agent, SIGSTOP, kGoesOn}});
}

TEST_F(LaunchKill, AgentsGuards) { run_cells({{Victim::agent_guard, SIGKILL, 137}, {Victim::agent_guard, SIGSTOP, 125}}); }

TEST_F(LaunchKill, Ranks) { run_cells({{Victim::rank, SIGKILL, 137}, {Victim::rank, SIGTERM, 143}}); }

TEST_F(LaunchKill, TheCommandAndItsGuard) {
    run_cells({{Victim::command, SIGKILL, 137},
               {Victim::command, SIGTERM, 143},
               {Victim::command, SIGINT, 130},
               {Victim::command_guard, SIGKILL, 137}});
}

TEST_F(LaunchKill, HostsAndLinks) { run_cells({{Victim::host, 0, 125}, {Victim::link, 0, 125}}); }

}  // namespace
}  // namespace rollcall::test
