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
#include "launcher/poller.hpp"
#include "launcher/protocol.hpp"
#include "launcher/spawn.hpp"

namespace rollcall::launcher {

/// A remote shell that is known by its name: Slurm's, inside an allocation.
inline constexpr const char* kSrun = "srun";

/// The words of a remote shell's command that starts `command` on `host`. `shell` is a command of words, as a shell would
/// split them (quotes and backslashes), in which {host} stands for the host; without one, the host is its last word.
/// Empty: ssh; kSrun: srun. Throws Error{invalid_argument} for a quote that is not closed.
std::vector<std::string> remote_command(const std::string& shell, const std::string& host, const std::string& command);

/// Starts an agent, again after a pause when the connection was refused or dropped (a default sshd drops some of many
/// at a time), gives it its order, and passes on what it says.
class Remote {
  public:
    struct Events {
        /// Everything the agent says but its greeting and heartbeats.
        std::function<void(const Frame&)> said;
        /// It could not be started, or is gone before it said that it has finished. Called once; `code` is an exit code for
        /// the job when it could not be started.
        std::function<void(const std::string& how, int code)> lost;
        /// A line that the remote shell wrote.
        std::function<void(const std::string& line)> shell_said;
    };

    /// `order` begins with the agent's own host. `inherited` stays the caller's.
    Remote(Poller& poller, Order order, const Inherited& inherited, Events events);
    ~Remote();
    Remote(const Remote&) = delete;
    Remote& operator=(const Remote&) = delete;

    /// It has not been started yet, or is to be started again, now.
    bool waits_to_start() const;
    void start();
    const HostOrder& host() const { return order_.hosts.front(); }
    const Order& order() const { return order_; }
    bool connected() const { return connected_; }
    /// It has finished or is lost: nothing more comes.
    bool over() const { return over_; }
    void send(std::shared_ptr<const Blob> frame);
    /// The process of the remote shell; -1 when there is none.
    pid_t shell() const { return shell_; }
    /// It has ended, and was reaped.
    void shell_ended(int status);
    void kill_shell();
    /// Nothing more is expected of an agent that has not answered yet.
    void give_up_start();

    Nanoseconds tick_at() const;
    void tick();
    /// A heartbeat, if one is due.
    void beat();

  private:
    void said(const Frame& frame);
    void closed(const std::string& how);
    void lose(const std::string& how, int code);
    void hear_shell();
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
    std::string shell_text_;    // of its standard error: an unfinished line, or all of it before the agent has answered
    std::string shell_output_;  // of its standard output, before the agent
    bool connected_ = false;
    bool over_ = false;
    int attempts_ = 0;
    Nanoseconds retry_at_;
    Nanoseconds launch_until_;
    std::string closed_how_;  // the link was closed; the shell's end says more
    Nanoseconds closed_at_;
    std::minstd_rand random_;
};

}  // namespace rollcall::launcher
