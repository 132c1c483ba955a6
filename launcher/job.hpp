/// \file
/// The guard: the process whose children the ranks are, and the job seen from there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/leftovers.hpp"
#include "launcher/local.hpp"
#include "launcher/output.hpp"
#include "launcher/poller.hpp"
#include "launcher/rounds.hpp"
#include "launcher/spawn.hpp"
#include "launcher/terminal.hpp"
#include "runtime/bootstrap/descriptor.hpp"
#include "runtime/bootstrap/frames.hpp"

namespace rollcall::launcher {

/// What the guard gets from the front process, the caller of run().
struct Guarded {
    const LaunchOptions* options = nullptr;
    std::vector<std::string> programs;  ///< The path of each application's program.
    Inherited inherited;
    bootstrap::Descriptor commands;  ///< From the front: a byte for each signal it got. To it: Leftovers::Found.
    bootstrap::Descriptor front;     ///< A pidfd: readable when the front is dead.
};

/// One job, from the start of its ranks to the end of everything they started. Runs in a process of its own with one
/// thread.
class Job {
  public:
    explicit Job(Guarded guarded);
    ~Job();
    /// The job's exit code.
    int run();

  private:
    struct Rank;
    /// How far the end of the job has come.
    enum class Stage {
        running,
        reporting,    ///< Survivors have been told and may say what they lost.
        terminating,  ///< They have been asked to go.
        killing,
    };

    void start();
    void start(Rank& rank, const std::string& path, const Application& application, const std::vector<std::string>& environment,
               std::optional<int> processor);
    void welcome(const Rank& rank, const bootstrap::Descriptor& control, const bootstrap::Descriptor& notices) const;
    void step();

    void hear(Rank& rank);
    void handle(Rank& rank, const bootstrap::Frame& frame);
    void answer(const std::vector<Rounds::Answer>& answers);
    void send(Rank& rank);
    void notify(const bootstrap::Notice& notice, int except);
    void send_notices(Rank& rank);

    void reap();
    void exited(Rank& rank, int status);
    void lose(Rank& rank, const std::string& how);
    std::string who(const Rank& rank) const;
    bool anyone_to_report() const;
    void limit_flush();
    void look_for_leftovers();

    void fail(int code, const std::string& sentence);
    void end(int code, const std::string& sentence, int signal);
    void terminate(int signal);
    void kill();
    void signalled(int signal);
    int finish();

    Guarded guarded_;
    const LaunchOptions& options_;
    std::string host_;
    std::string job_;
    Poller poller_;
    Output output_;
    Leftovers leftovers_;
    std::unique_ptr<Terminal> terminal_;
    bootstrap::Descriptor deaths_;  // signalfd of SIGCHLD
    bootstrap::Descriptor null_;    // standard input of all but rank 0
    bootstrap::Descriptor report_;  // of programs that could not be executed
    bootstrap::Descriptor report_write_;
    std::vector<std::unique_ptr<Rank>> ranks_;
    Rounds rounds_;
    std::map<int, int> not_started_;  // by rank: the errno of its exec
    int living_ = 0;

    Stage stage_ = Stage::running;
    int code_ = 0;
    std::string early_;        // the first rank that went without leaving, though with code 0
    Nanoseconds stage_until_;  // when the next stage begins
    Nanoseconds ended_at_;     // --timeout
    Nanoseconds flush_until_;  // output that is not taken by then is dropped
};

}  // namespace rollcall::launcher
