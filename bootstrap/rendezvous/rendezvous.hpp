/// \file
/// How processes that a foreign starter started find each other, and stay in touch.
///
/// A starter gives a rank, the size, and a way to hand one short text from rank 0 to all: the invitation. Everything else
/// is here: one process of each host leads (the first that binds a socket whose name comes from the job's key), leaders
/// connect to rank 0 by TCP, and every connection is mutually authenticated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rollcall/time.hpp>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/rendezvous/invitation.hpp"

namespace rollcall::bootstrap {

/// Hands rank 0's invitation to all ranks: rank 0 gives its own, or why it has none; the others give an empty text; all get rank 0's. It is
/// called once in each process, from the thread that constructs the Rendezvous; again only if
/// RendezvousOptions::invitation_may_be_stale. At most kLongestInvitation characters, all printable and none of them a space.
using Share = std::function<std::string(std::string mine)>;

struct RendezvousOptions {
    Timeout join_timeout = std::chrono::seconds(60);  ///< From the construction until all ranks have come.
    std::string net;                                  ///< ROLLCALL_NET: on which interface rank 0 listens, when `address` is empty.
    std::string address;                              ///< Where rank 0 listens, a numeric address, when the starter dictates it.
    std::uint16_t port = 0;                           ///< 0: any.
    std::vector<std::uint16_t> more_ports;            ///< Rank 0 takes the first of `port` and these that is free; the others try all.
    std::string invitation;                           ///< Of a root that is there already: then nobody is asked, and rank 0 makes none.
    std::string port_advice;                          ///< What to do when `port` is taken, a clause.
    std::optional<Key> key;                           ///< When the starter dictates it; else rank 0 makes one.
    bool invitation_may_be_stale = false;             ///< Ask for it again while it is not answered.
    Timeout heartbeat = std::chrono::seconds(1);      ///< Between leaders and rank 0.
    Timeout silence = std::chrono::seconds(10);       ///< After which a host counts as lost; 0: never.
    std::string host;  ///< This host's name; empty: the system's. Ranks of different names never share a leader.
};

/// What the settings say about it: ROLLCALL_LAUNCH_TIMEOUT, ROLLCALL_NET, ROLLCALL_PORT, ROLLCALL_HEARTBEAT, ROLLCALL_SILENCE.
/// Throws Error{invalid_setting}.
RendezvousOptions rendezvous_options();

/// Threads: as Bootstrap says; abort() may be called by any thread at any time. The process that leads its host has one
/// thread more, which sleeps until something happens.
///
/// Ranks that die are told to all. When the leader of a host dies all ranks of its host count as lost, when rank 0 dies all
/// ranks hear that the job cannot go on.
class Rendezvous final : public Bootstrap {
  public:
    /// Collective over the job: returns when all ranks have come. `starter` is what name() gives. Throws Error{bootstrap}
    /// for a rank that came twice, for different sizes, and for what the system refuses; Error{timeout} naming the ranks
    /// that are missing.
    Rendezvous(std::string starter, int rank, int size, const Share& share, const RendezvousOptions& options);
    ~Rendezvous() override;

    std::string_view name() const override;
    const Place& place() const override;
    Gathered exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout) override;
    void barrier(const Meanwhile& meanwhile, Timeout timeout) override;
    int notice_descriptor() const override;
    std::optional<Notice> take_notice() override;
    /// Waits, for some seconds at most, for those who depend on this process: rank 0 for all, a leader for its host.
    void leave() noexcept override;
    /// Tells all others that the job is being ended, with this process's reason. Their processes end themselves.
    void abort(int code, std::string_view why) noexcept override;
    /// abort() in two steps, between which a process manager can be told: on standard error, and to the others.
    void say_abort(int code, std::string_view why) const noexcept;
    void tell_abort(int code, std::string_view why) noexcept;

  private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace rollcall::bootstrap
