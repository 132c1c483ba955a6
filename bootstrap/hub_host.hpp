/// \file
/// A hub in a process that has connections. What comes over connections is given to the hub, and what the hub answers
/// is sent to its destination.
#pragma once

#include <memory>
#include <string>

#include <rollcall/time.hpp>

#include "bootstrap/hub.hpp"
#include "foundation/clock.hpp"

namespace rollcall::bootstrap {

/// Not thread-safe. Each station of the launcher has one, and so have the root and the leaders of a rendezvous.
class HubHost {
  public:
    /// The connections. A connection that is gone still accepts frames, and drops them. The code that sees the loss
    /// reports it.
    class Routes {
      public:
        using FrameToSend = std::shared_ptr<const Blob>;
        virtual ~Routes() = default;
        virtual void to_rank(int rank, const FrameToSend& frame) = 0;
        /// To all ranks of this host that are not lost.
        virtual void notify_ranks(const FrameToSend& notice) = 0;
        virtual void to_below(int hub, const FrameToSend& frame) = 0;
        virtual void to_above(const FrameToSend& frame) = 0;
    };

    /// `host` is the name of this host.
    HubHost(Routes& routes, std::string host, Hub hub);

    /// Takes an exchange, barrier or leave of a rank of this host. Returns false if the frame is something else.
    /// Throws Error{bootstrap} for a frame that no rank may send.
    bool hear_rank(int rank, const Frame& frame);
    /// These do the same as the functions of Hub with the same names.
    void hear_below(int hub, const Frame& frame) { deliver(hub_.hear_below(hub, frame)); }
    void hear_above(const Frame& frame) { deliver(hub_.hear_above(frame)); }
    void lose_below(int hub, std::string host, std::string how) { deliver(hub_.lose_below(hub, std::move(host), std::move(how))); }
    void end(std::string sentence) { deliver(hub_.end(std::move(sentence))); }
    bool is_lost(int rank) const { return hub_.is_lost(rank); }
    bool has_met() const { return hub_.has_met(); }
    /// A rank of this host will make no more calls.
    void lose(int rank, std::string how) { deliver(hub_.lose(rank, host_, std::move(how), true)); }

    /// When tick() is due.
    Nanoseconds tick_at() const { return collected_until_; }
    void tick();
    /// Does at once what tick() would do when it is due.
    void tell_collected();

  private:
    void deliver(const Hub::Deliveries& deliveries);

    Routes& routes_;
    std::string host_;
    Hub hub_;
    Nanoseconds collected_until_ = kNever;  // then the other hubs are told what the hub has collected
};

}  // namespace rollcall::bootstrap
