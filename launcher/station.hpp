/// \file
/// What the launcher and its agents have in common: the ranks of a host, the agents below, and all frames that go up
/// and down.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/hub_host.hpp"
#include "launcher/node.hpp"
#include "launcher/pair.hpp"
#include "launcher/processes/leftovers.hpp"
#include "launcher/protocol.hpp"
#include "launcher/remote.hpp"
#include "launcher/streams/poller.hpp"

namespace rollcall::launcher {

/// One station of a job: that of the launcher, or that of an agent. It runs in one thread.
class Station : protected Node::Events, protected bootstrap::HubHost::Routes {
  public:
    Station(const Station&) = delete;
    Station& operator=(const Station&) = delete;

  protected:
    /// The first host of `order` is this station's own.
    Station(Poller& poller, Guarded& guarded, Order order, bool root);
    ~Station() override;

    /// A frame for the station above: from this station, or unchanged from those below. In the launcher's station,
    /// this function handles the frame. Frames of hubs do not come here.
    virtual void report(const Frame& frame) = 0;
    /// The rank that gets this process's own standard input; -1: none.
    virtual int direct_input() const { return -1; }
    virtual void signalled(int signal) = 0;
    /// The launcher has passed on this many bytes of a stream.
    virtual void output_taken(int rank, bool error, std::size_t bytes) = 0;

    /// Checks whether this station can start its ranks, and starts the agents below.
    void prepare();
    /// Carries out a command from above, and passes it on to the stations below that it concerns. Throws Error for a
    /// frame that is not a command.
    void command(const Frame& frame);
    void command(Blob frame);
    /// Ends what is left of the job here, removes its files if the job failed, and asks the stations below for the
    /// same.
    void finish(bool failed);
    /// In the launcher's station: whether all ranks have met in a call, so that the job has started.
    bool all_have_met() const { return hub_.has_met(); }
    /// Every agent below has finished or is lost.
    bool below_over() const;
    void kill_shells();
    void look_for_leftovers();

    /// Waits until something happens, at most until `until`, and handles it.
    void step(Nanoseconds until);

    // Implements Node::Events.
    void joined(int rank) override;
    void called(int rank, const Frame& frame) override;
    void fell_silent(int rank, const std::string& how) override;
    void exited(const Exit& exit) override;
    void input_taken(int rank, std::size_t bytes, bool closed) override;
    void busy() override;

    Poller& poller_;
    Guarded& guarded_;
    const Order order_;
    const std::string host_;
    Node node_;

  private:
    // Implements HubHost::Routes. Derived classes send what goes to the station above.
    void to_rank(int rank, const FrameToSend& frame) override { node_.answer(rank, frame); }
    void notify_ranks(const FrameToSend& notice) override { node_.notify(notice); }
    void to_below(int hub, const FrameToSend& frame) override { remotes_[static_cast<std::size_t>(hub)]->send(frame); }

    void hear(std::size_t remote, const Frame& frame);
    void lost(std::size_t remote, const std::string& how, int code);
    Remote* way_to(int rank) const;
    void kill();
    void trace();
    void give_up_tracing();
    void report_traced();
    void reap();

    const bool root_;                 // the launcher's own
    std::vector<Order> parts_;        // of the order, for each agent that this station starts, until it does
    std::map<int, std::size_t> way_;  // from a rank to the remote that leads to it
    bootstrap::HubHost hub_;
    std::vector<std::unique_ptr<Remote>> remotes_;
    Leftovers leftovers_;
    Descriptor deaths_;  // signalfd of SIGCHLD
    pid_t tracer_ = -1;
    bool ending_ = false;  // the ranks were asked to end, or are being killed
    bool killing_ = false;
    Nanoseconds kill_again_;
};

}  // namespace rollcall::launcher
