/// \file
/// An agent on another host: the remote shell that starts it, and the link to it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <rollcall/time.hpp>

#include "launcher/link.hpp"
#include "launcher/processes/spawn.hpp"
#include "launcher/protocol.hpp"
#include "launcher/streams/poller.hpp"

namespace rollcall::launcher {

/// Remote shells that are known by their names: the default, and that of Slurm, inside an allocation.
inline constexpr const char* kSsh = "ssh";
inline constexpr const char* kSrun = "srun";

/// Variables that srun reads as options, and that are about another step: the one around this process, or the one that the user had in
/// mind. They would change how an agent is started, or what srun does to its output. (srun before 22.05 reads SLURM_CPUS_PER_TASK.) An
/// agent is to have all that the allocation has on its host, and is not bound.
inline constexpr const char* kSettingsOfSrun[] = {
    // What a task gets. Without these, a step has all generic resources of the allocation.
    "SRUN_CPUS_PER_TASK", "SLURM_CPUS_PER_TASK", "SLURM_CPUS_PER_GPU", "SLURM_EXACT", "SLURM_EXCLUSIVE", "SLURM_CONSTRAINT", "SLURM_GPUS",
    "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_SOCKET", "SLURM_GPUS_PER_TASK", "SLURM_GRES", "SLURM_GRES_FLAGS", "SLURM_STEP_GRES",
    "SLURM_TRES_PER_TASK", "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_MEM_PER_NODE",
    // How tasks are counted, distributed and bound.
    "SLURM_CPU_BIND", "SLURM_GPU_BIND", "SLURM_MEM_BIND", "SLURM_TRES_BIND", "SLURM_DISTRIBUTION", "SLURM_DIST_PLANESIZE", "SLURM_HINT",
    "SLURM_NTASKS_PER_CORE", "SLURM_NTASKS_PER_GPU", "SLURM_NTASKS_PER_NODE", "SLURM_NTASKS_PER_SOCKET", "SLURM_NTASKS_PER_TRES",
    "SLURM_THREADS_PER_CORE", "SLURM_NCORES_PER_SOCKET", "SLURM_NSOCKETS_PER_NODE",
    // How a task starts, and how long it may run.
    "SLURM_BCAST", "SLURM_EXPORT_ENV", "SRUN_EXPORT_ENV", "SLURM_IMMEDIATE", "SLURM_REMOTE_CWD", "SLURM_WORKING_DIR", "SLURM_SIGNAL",
    "SLURM_TIMELIMIT",
    // What becomes of its streams.
    "SLURM_LABELIO", "SLURM_STDINMODE", "SLURM_STDOUTMODE", "SLURM_STDERRMODE"};

/// Returns the words of the command of a remote shell that starts `command` on `host`. `shell` is a command of words,
/// which are split as a shell would (quotes and backslashes). In it {host} stands for the host; without {host}, the
/// host is appended as the last word. Empty or kSsh: ssh; kSrun: srun. For ssh, also with words of the user's, `command`
/// is quoted, because a shell on the other host reads it. Throws Error{invalid_argument} for a quote that is not
/// closed.
std::vector<std::string> remote_command(const std::string& shell, const std::string& host, const std::string& command);

/// Starts an agent, gives it its order, and passes on what it says. If the connection was refused or dropped, it
/// tries again after a pause, because an sshd with default settings drops some of many connections at a time.
class Remote {
  public:
    struct Events {
        /// Called with every frame of the agent except its greeting and heartbeats.
        std::function<void(const Frame&)> said;
        /// Called once, when the agent could not be started, or is gone before it said that it has finished. `code`
        /// is the exit code that this gives the job.
        std::function<void(const std::string& how, int code)> lost;
        /// A line that the remote shell wrote.
        std::function<void(const std::string& line)> shell_said;
    };

    /// The first host of `order` is the agent's own. The caller keeps `inherited`.
    Remote(Poller& poller, Order order, const Inherited& inherited, Events events);
    ~Remote();
    Remote(const Remote&) = delete;
    Remote& operator=(const Remote&) = delete;

    /// Whether the agent has not been started yet, or is to be started again now.
    bool waits_to_start() const;
    void start();
    const HostOrder& host() const { return order_.hosts.front(); }
    const Order& order() const { return order_; }
    bool connected() const { return connected_; }
    /// Whether the agent has finished or is lost. Nothing more comes then.
    bool over() const { return over_; }
    void send(std::shared_ptr<const Blob> frame);
    /// The process of the remote shell; -1 if there is none.
    pid_t shell() const { return shell_; }
    /// The process of the remote shell has ended and was reaped.
    void shell_ended(int status);
    void kill_shell();
    /// The ranks will not start any more. Expects nothing more of an agent that has not answered yet. One that has answered, but is not
    /// prepared, counts as lost after the time of silence, as all others do.
    void give_up_start();

    /// When tick() is due. `may_start`: or start().
    Nanoseconds tick_at(bool may_start = true) const;
    void tick();
    /// Sends a heartbeat if one is due.
    void beat();

  private:
    void said(const Frame& frame);
    void closed(Link::Cause cause, const std::string& how);
    void lose(const std::string& how, int code);
    /// Returns false if there was nothing to read.
    bool hear_shell();
    std::string shell_words() const;
    void take_shell_lines(bool all);
    bool may_try_again(int status) const;

    Poller& poller_;
    Order order_;
    const Inherited& inherited_;
    Events events_;
    pid_t shell_ = -1;
    std::unique_ptr<Link> link_;
    std::unique_ptr<Link> ended_link_;  // destroyed at the next tick: it may be calling
    Descriptor shell_error_;
    Descriptor start_error_;    // gives the errno if the shell's program could not be started
    std::string shell_text_;    // of its standard error: an unfinished line, or all of it before the agent has answered
    std::string shell_output_;  // of its standard output, before the agent
    bool connected_ = false;
    bool prepared_ = false;
    bool over_ = false;
    int attempts_ = 0;
    Nanoseconds retry_at_;
    Nanoseconds launch_until_;
    std::string closed_how_;  // the link was closed; the shell's end says more
    Nanoseconds closed_at_;
    std::minstd_rand random_;
};

}  // namespace rollcall::launcher
