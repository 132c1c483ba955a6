/// \file
/// What the launcher and its agents have in common: a host's ranks, the agents below, and everything that goes up and down.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/hub_host.hpp"
#include "launcher/leftovers.hpp"
#include "launcher/node.hpp"
#include "launcher/pair.hpp"
#include "launcher/poller.hpp"
#include "launcher/protocol.hpp"
#include "launcher/remote.hpp"

namespace rollcall::launcher {

/// One station of a job: the launcher's, or an agent's. One thread.
class Station : protected Node::Events, protected bootstrap::HubHost::Routes {
  public:
    Station(const Station&) = delete;
    Station& operator=(const Station&) = delete;

  protected:
    /// `order` begins with this station's own host.
    Station(Poller& poller, Guarded& guarded, Order order, bool root);
    ~Station() override;

    /// For above: from this station, and unchanged from those below. The launcher handles it. A frame of a hub is not
    /// among these.
    virtual void report(const Frame& frame) = 0;
    /// A rank that gets this process's own standard input; -1: none.
    virtual int direct_input() const { return -1; }
    virtual void signalled(int signal) = 0;
    /// How much of a stream the launcher has passed on.
    virtual void output_taken(int rank, bool error, std::size_t bytes) = 0;

    /// Looks whether it can start its ranks, and starts the agents below.
    void prepare();
    /// Does what comes from above, and passes it on to those below whom it concerns. Throws Error for what is no command.
    void command(const Frame& frame);
    void command(Blob frame);
    /// Ends what is left of the job here, removes its files if it failed, and asks those below for the same.
    void finish(bool failed);
    /// Every agent below has finished or is lost.
    bool below_over() const;
    void kill_shells();
    void look_for_leftovers();

    /// Waits until something happens, at most until `until`, and lets it happen.
    void step(Nanoseconds until);

    // Of Node::Events.
    void joined(int rank) override;
    void called(int rank, const Frame& frame) override;
    void fell_silent(int rank, const std::string& how) override;
    void exited(const Exit& exit) override;
    void input_taken(int rank, std::size_t bytes, bool closed) override;
    void starting() override;

    Poller& poller_;
    Guarded& guarded_;
    const Order order_;
    const std::string host_;
    Node node_;

  private:
    // Of HubHost::Routes. What goes to the station above is for who derives from this.
    void to_rank(int rank, const FrameToSend& frame) override { node_.answer(rank, frame); }
    void notify_rank(int rank, const FrameToSend& notice) override { node_.notify(rank, notice); }
    void to_below(int hub, const FrameToSend& frame) override { remotes_[static_cast<std::size_t>(hub)]->send(frame); }

    void hear(std::size_t remote, const Frame& frame);
    void lost(std::size_t remote, const std::string& how, int code);
    Remote* way_to(int rank) const;
    void kill();
    void trace();
    void give_up_tracing();
    void report_traced();
    void reap();

    std::vector<Order> parts_;        // of the order, for each agent that this station starts, until it does
    std::map<int, std::size_t> way_;  // from a rank to the remote that leads to it
    bootstrap::HubHost hub_;
    std::vector<std::unique_ptr<Remote>> remotes_;
    Leftovers leftovers_;
    Descriptor deaths_;  // signalfd of SIGCHLD
    pid_t tracer_ = -1;
    bool killing_ = false;
    Nanoseconds kill_again_;
};

}  // namespace rollcall::launcher
