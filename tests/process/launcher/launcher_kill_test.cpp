/// \file
/// The kill matrix. Any part of a job over hosts is killed, told to end or stopped. Nothing of the job may be left anywhere, and the exit
/// code must be that of the first failure. There are three hosts (agents behind a remote shell that stays) with two ranks each. Every rank
/// has a grandchild in a session of its own. Each test prints what it saw and how long that took.
#include <chrono>
#include <thread>

#include "tests/process/launcher/launched.hpp"

namespace {

using namespace rollcall::test;

constexpr int kNoSignal = 0;  // The rank exits by itself.

enum class Victim { command, command_guard, agent, agent_guard, remote_shell, rank, grandchild };

struct Cell {
    Victim victim;
    int signal;
    const char* fanout;
    /// The exit code of the job. 0: the victim does not matter to the job, which runs to its end.
    int code;
};

const char* name(Victim victim) {
    switch (victim) {
        case Victim::command: return "command";
        case Victim::command_guard: return "command's guard";
        case Victim::agent: return "agent";
        case Victim::agent_guard: return "agent's guard";
        case Victim::remote_shell: return "remote shell";
        case Victim::rank: return "rank";
        default: return "grandchild";
    }
}

pid_t parent_of(pid_t process) { return status_of(process).second; }

/// One job of the matrix.
class Victims {
  public:
    explicit Victims(const Cell& cell) : cell_(cell) {
        static int number = 0;
        go_ = fmt::format("{}/rollcall-kill-go-{}-{}", testing::TempDir(), ::getpid(), ++number);
        // Only a stopped process is noticed by its silence. On a busy machine a killed one could be silent for a second, too.
        const char* const silence = cell.signal != SIGSTOP ? "20s" : kSanitized ? "3s" : "1s";
        Words words{"--hosts", "a:2,b:2,c:2", "--agent", kShell, "--fanout", cell.fanout, "--grace", "200ms", "--silence", silence};
        if (cell.victim == Victim::rank && cell.signal == SIGSTOP) words.insert(words.end(), {"--timeout", "3s"});
        words.insert(words.end(), {kProbe, "orphan", "barrier", "ready"});
        if (cell.signal == kNoSignal) words.push_back("exit:7@3");
        words.insert(words.end(), {"await:" + go_, "barrier", "leave"});
        job_ = std::make_unique<Launched>(words);
    }
    ~Victims() { ::unlink(go_.c_str()); }

    bool is_ready() { return cell_.signal == kNoSignal || job_->saw("ready", 6); }

    /// The victim is on host b, the middle one: in a tree of width 1, its agent starts that of c.
    pid_t find() const {
        if (cell_.victim == Victim::command) return job_->process();
        if (cell_.victim == Victim::command_guard) return job_->guard();
        for (const pid_t process : job_->left()) {
            const std::string words = contents(fmt::format("/proc/{}/cmdline", process));
            const std::string environment = contents(fmt::format("/proc/{}/environ", process));
            if (environment.find("ROLLCALL_TEST_HOST=b") == std::string::npos) continue;
            const bool is_agent = words.ends_with(std::string("agent\0", 6)) && words.find("sh") != 0;
            const bool is_front = is_agent && contents(fmt::format("/proc/{}/comm", process)) != "rollcall-guard\n";
            const bool is_rank = environment.find("ROLLCALL_BOOTSTRAP_RANK=3") != std::string::npos;
            const bool is_first = is_rank && job_->so_far().out.find(fmt::format("pid {} ready", process)) != std::string::npos;
            switch (cell_.victim) {
                case Victim::agent:
                    if (is_front) return process;
                    break;
                case Victim::agent_guard:
                    if (is_agent && !is_front) return process;
                    break;
                case Victim::remote_shell:
                    if (is_front) return parent_of(process);
                    break;
                case Victim::rank:
                    if (is_first) return process;
                    break;
                default:
                    if (is_rank && !is_first) return process;
            }
        }
        return -1;
    }

    void strike() {
        begin_ = Clock::now();
        if (cell_.signal == kNoSignal) return;
        // While the machine is busy, /proc may not have what find() looks for yet.
        for (const auto until = begin_ + std::chrono::seconds(10); (victim_ = find()) <= 1 && Clock::now() < until;)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        ASSERT_GT(victim_, 1) << name(cell_.victim);
        begin_ = Clock::now();
        ::kill(victim_, cell_.signal);
        if (cell_.code != 0) return;
        // The job is to go on.
        std::ofstream(go_) << "go";
    }

    void check() {
        if (cell_.victim == Victim::command && cell_.signal == SIGSTOP) {
            // Everything ends except the stopped process. It decides the exit code once it may run again.
            EXPECT_TRUE(eventually([this] { return job_->left().size() == 1; }));
            ::kill(victim_, SIGCONT);
        }
        const Result result = job_->finish();
        const auto ended = Clock::now();
        const bool empty = eventually([this] { return job_->left().empty(); });
        const auto gone = Clock::now();
        const std::string what =
            fmt::format("{:15} {:8} {:4} code {:3}", name(cell_.victim),
                        cell_.signal == kNoSignal ? "exit 7" : ::sigabbrev_np(cell_.signal), cell_.fanout, result.code);
        EXPECT_TRUE(empty) << what << " left " << job_->left().size();
        EXPECT_EQ(result.code, cell_.code) << what << "\n" << result.error;
        if (cell_.victim == Victim::rank && cell_.code > 128) {
            EXPECT_NE(result.error.find("rank 3 on host b was killed by signal"), std::string::npos) << what << "\n" << result.error;
        }
        fmt::print("{}  ended after {:5} ms, all gone after {:5} ms\n", what,
                   std::chrono::duration_cast<milliseconds>(ended - begin_).count(),
                   std::chrono::duration_cast<milliseconds>(gone - begin_).count());
    }

  private:
    Cell cell_;
    std::string go_;
    std::unique_ptr<Launched> job_;
    pid_t victim_ = -1;
    Clock::time_point begin_;
};

/// Runs all cells at a time, because they spend most of their time waiting.
void run_cells(const std::vector<Cell>& cells) {
    for (std::size_t begin = 0; begin < cells.size(); begin += 4) {
        std::vector<std::unique_ptr<Victims>> jobs;
        for (std::size_t i = begin; i < std::min(begin + 4, cells.size()); ++i) jobs.push_back(std::make_unique<Victims>(cells[i]));
        for (const auto& job : jobs) ASSERT_TRUE(job->is_ready());
        for (const auto& job : jobs) job->strike();
        for (const auto& job : jobs) job->check();
    }
}

/// Each cell without a tree of agents, and with one. Under a sanitizer, which looks at code, each cell has one of the two.
std::vector<Cell> both(const std::vector<Cell>& cells) {
    std::vector<Cell> all;
    for (std::size_t i = 0; i < cells.size(); ++i)
        for (std::size_t j = 0; j < 2; ++j) {
            if (kSanitized && i % 2 != j) continue;
            all.push_back(cells[i]);
            all.back().fanout = j == 0 ? "flat" : "1";
        }
    return all;
}

constexpr int kGoesOn = 0;

TEST(KillMatrix, Ranks) {
    // A stopped rank is no failure. --timeout ends the job.
    run_cells(both({{Victim::rank, SIGKILL, "", 137},
                    {Victim::rank, SIGTERM, "", 143},
                    {Victim::rank, SIGINT, "", 130},
                    {Victim::rank, SIGHUP, "", 129},
                    {Victim::rank, kNoSignal, "", 7},
                    {Victim::rank, SIGSTOP, "", 124}}));
}

TEST(KillMatrix, Grandchildren) {
    run_cells(both({{Victim::grandchild, SIGKILL, "", kGoesOn},
                    {Victim::grandchild, SIGTERM, "", kGoesOn},
                    {Victim::grandchild, SIGINT, "", kGoesOn},
                    {Victim::grandchild, SIGHUP, "", kGoesOn},
                    {Victim::grandchild, SIGSTOP, "", kGoesOn}}));
}

TEST(KillMatrix, TheCommand) {
    run_cells(both({{Victim::command, SIGKILL, "", 137},
                    {Victim::command, SIGTERM, "", 143},
                    {Victim::command, SIGINT, "", 130},
                    {Victim::command, SIGHUP, "", 129},
                    {Victim::command, SIGSTOP, "", kGoesOn}}));
}

TEST(KillMatrix, TheCommandsGuard) {
    // The guard leaves signals to the command. When the guard is stopped, no process handles them, and the command ends the guard.
    run_cells(both({{Victim::command_guard, SIGKILL, "", 137},
                    {Victim::command_guard, SIGTERM, "", kGoesOn},
                    {Victim::command_guard, SIGINT, "", kGoesOn},
                    {Victim::command_guard, SIGHUP, "", kGoesOn},
                    {Victim::command_guard, SIGSTOP, "", 137}}));
}

TEST(KillMatrix, Agents) {
    // A stopped agent is no failure as long as its guard runs.
    run_cells(both({{Victim::agent, SIGKILL, "", 137},
                    {Victim::agent, SIGTERM, "", 143},
                    {Victim::agent, SIGINT, "", 130},
                    {Victim::agent, SIGHUP, "", 129},
                    {Victim::agent, SIGSTOP, "", kGoesOn}}));
}

TEST(KillMatrix, AgentsGuards) {
    run_cells(both({{Victim::agent_guard, SIGKILL, "", 137},
                    {Victim::agent_guard, SIGTERM, "", kGoesOn},
                    {Victim::agent_guard, SIGINT, "", kGoesOn},
                    {Victim::agent_guard, SIGHUP, "", kGoesOn},
                    {Victim::agent_guard, SIGSTOP, "", 125}}));
}

TEST(KillMatrix, RemoteShells) {
    // This shell has handed its pipes on, so it does not matter when it is stopped. (ssh carries the data itself: when ssh is stopped, the
    // host falls silent.) The shell leaves SIGINT to the process that it waits for.
    run_cells(both({{Victim::remote_shell, SIGKILL, "", 137},
                    {Victim::remote_shell, SIGTERM, "", 143},
                    {Victim::remote_shell, SIGINT, "", kGoesOn},
                    {Victim::remote_shell, SIGHUP, "", 129},
                    {Victim::remote_shell, SIGSTOP, "", kGoesOn}}));
}

}  // namespace
