/// \file
/// The ranks of one host: their processes, their frames to the bootstrap, and their standard input.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "foundation/descriptor.hpp"
#include "launcher/preparation.hpp"
#include "launcher/processes/frames.hpp"
#include "launcher/processes/out_of_memory.hpp"
#include "launcher/processes/spawn.hpp"
#include "launcher/protocol.hpp"
#include "launcher/streams/poller.hpp"

namespace rollcall::launcher {

class Node {
  public:
    /// What a node reports to its owner. Called from within the poller's handlers and from Node's own functions.
    class Events {
      public:
        virtual ~Events() = default;
        virtual void joined(int rank) = 0;
        /// An exchange, barrier, leave or abort. May throw Error for a frame that is none of these; then the
        /// connection is closed.
        virtual void called(int rank, const Frame& frame) = 0;
        /// A rank will make no more calls, because its connection was closed. Its process is still alive.
        virtual void fell_silent(int rank, const std::string& how) = 0;
        /// The process of a rank is gone, and its output pipes have no writer of its own any more.
        virtual void exited(const Exit& exit) = 0;
        /// Hands over the reading end of a rank's standard output or error.
        virtual void writes_to(int rank, bool error, Descriptor pipe) = 0;
        /// A rank has taken this many bytes of what was given to input(). `closed`: it takes no more.
        virtual void input_taken(int rank, std::size_t bytes, bool closed) = 0;
        virtual void say(const std::string& sentence) = 0;
        /// Called again and again while ranks are started and while deaths are handled, because either may take longer than the
        /// other stations wait for a heartbeat.
        virtual void busy() = 0;
    };

    /// Sets up what all ranks need. The ranks are killed when the calling thread dies, so it must live as long as
    /// they do. The caller keeps `order`.
    Node(Poller& poller, Events& events, const Order& order, Inherited inherited);
    ~Node();
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    /// Checks whether the ranks can be started here, and decides where they run.
    Prepared prepare();
    /// Starts the ranks. `direct_input` is a rank that gets this process's own standard input, or -1. If a rank
    /// cannot be started, the ranks after it are not started either, and exited() is called for each of them.
    void start(int direct_input);

    int living() const { return living_; }
    bool has(int rank) const { return ranks_.contains(rank); }
    /// The living ranks and their processes.
    std::vector<std::pair<int, pid_t>> processes() const;
    /// The processes of all ranks that were started, also of those that have ended.
    std::set<pid_t> started() const;

    void answer(int rank, std::shared_ptr<const Blob> frame);
    /// Gives a notice to all ranks that have not left the job. Those that have not joined yet get it when they do.
    void notify(const std::shared_ptr<const Blob>& record);
    /// Gives a rank standard input. No bytes mean its end.
    void input(int rank, std::string_view bytes);

    /// Children of this process that are not ranks and must stay alive: remote shells.
    std::set<pid_t>& spared() { return spared_; }
    /// Sends a signal to all processes of the job on this host; SIGUSR1 and SIGUSR2 to the ranks only. A stopped
    /// process also gets SIGCONT, unless the signal stops it or is SIGUSR1 or SIGUSR2.
    void signal(int number);
    /// Reaps processes that have died. Deaths of ranks are handled here. Those of other processes are returned to the
    /// owner, as (process, status).
    std::vector<std::pair<pid_t, int>> reap();
    /// When tick() is due.
    Nanoseconds tick_at() const;
    void tick();

  private:
    struct Rank;

    void start(Rank& rank, bool direct_input);
    void welcome(const Rank& rank, const Descriptor& control, const Descriptor& notices) const;
    void hear(Rank& rank);
    void notices_closed(Rank& rank);
    void handle(Rank& rank, const Frame& frame);
    void send(Rank& rank);
    void prepare_start(std::vector<Descriptor>& kept);
    void exited(Rank& rank, int status);
    void explain(const Rank& rank, const SpawnFailure& failure, Exit& exit) const;

    Poller& poller_;
    Events& events_;
    const Order& order_;
    const HostOrder& own_;
    Inherited inherited_;
    std::string host_;
    Descriptor null_;    // standard input of ranks that get none
    Descriptor report_;  // of programs that could not be executed
    Descriptor report_write_;
    Preparation preparation_;
    std::map<int, std::unique_ptr<Rank>> ranks_;
    std::unordered_map<pid_t, Rank*> living_processes_;
    std::set<Rank*> listening_;                         // ranks that have joined, and neither left nor fallen silent
    std::vector<std::shared_ptr<const Blob>> noticed_;  // all notices so far, for ranks that join later
    std::map<int, SpawnFailure> not_started_;           // by rank
    std::set<pid_t> spared_;
    OutOfMemory memory_;
    int living_ = 0;
};

/// "signal 9 (Killed)"
std::string describe_signal(int signal);

}  // namespace rollcall::launcher
